"use strict";
// Keeps the page live: asks for it again, puts what has changed in place of what was, and says
// when nobody answers. What is shown comes from the exporter as HTML; nothing is built here.
(function () {
  const POLL_MS = 3000, TIMEOUT_MS = 8000, GONE_MS = 300000;
  const live = document.getElementById("live");
  const offline = document.getElementById("offline");
  let age = Number(live.dataset.age), old = Number(live.dataset.old);
  let heard = performance.now(), heardAt = new Date(), failures = 0;

  function morph(now, next) {
    if (now.nodeName !== next.nodeName || now.id !== next.id) { now.replaceWith(next); return; }
    if (now.nodeType === Node.TEXT_NODE) {
      if (now.data !== next.data) now.data = next.data;
      return;
    }
    for (const each of [...now.attributes]) {
      if (!next.hasAttribute(each.name) && each.name !== "open") now.removeAttribute(each.name);
    }
    for (const each of next.attributes) {
      if (now.getAttribute(each.name) !== each.value && each.name !== "open") {
        now.setAttribute(each.name, each.value);
      }
    }
    const before = [...now.childNodes], after = [...next.childNodes];
    after.forEach((child, at) => before[at] ? morph(before[at], child) : now.append(child));
    before.slice(after.length).forEach((child) => child.remove());
  }

  function words(secs) {
    if (!(secs >= 0)) return "not read yet";
    return secs < 120 ? `read ${Math.round(secs)} s ago` : `read ${Math.round(secs / 60)} min ago`;
  }

  function show() {
    const silent = performance.now() - heard, secs = age + silent / 1000;
    const lost = failures > 1;
    live.className = "live " + (lost ? "off" : secs > old ? "old" : "on");
    live.textContent = lost ? "no answer" : words(secs);
    document.body.classList.toggle("lost", lost);
    document.body.classList.toggle("gone", lost && silent > GONE_MS);
    offline.hidden = !lost;
    if (lost) {
      const text = "The exporter does not answer since " + heardAt.toLocaleTimeString() +
        (silent > GONE_MS ? "." : "; what is shown below was read then.");
      if (offline.textContent !== text) offline.textContent = text;
    }
  }

  async function poll() {
    const stop = new AbortController(), timer = setTimeout(() => stop.abort(), TIMEOUT_MS);
    try {
      const answer = await fetch("/", {
        headers: { Accept: "text/html" }, cache: "no-store", signal: stop.signal,
      });
      if (!answer.ok) throw new Error(String(answer.status));
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const said = next.getElementById("live"), main = next.getElementById("main");
      if (!said || !main) throw new Error("another page");
      age = Number(said.dataset.age); old = Number(said.dataset.old);
      heard = performance.now(); heardAt = new Date(); failures = 0;
      document.title = next.title;
      morph(document.getElementById("title"), next.getElementById("title"));
      morph(document.getElementById("main"), main);
    } catch (error) {
      failures += 1;
    } finally {
      clearTimeout(timer);
      show();
      setTimeout(poll, POLL_MS);
    }
  }

  show();
  setInterval(show, 1000);
  setTimeout(poll, POLL_MS);
})();
