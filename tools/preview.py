"""Draws every dashboard as a page and a picture, from the answers of a Prometheus."""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.preview_asking import Prometheus, Span
from tools.preview_page import View, page

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Write a page for each dashboard, and a picture where Chromium is there; say what is empty."""
    given = _arguments()
    span = Span(given.at - given.minutes * 60, given.at)
    wanted = dict(pair.split("=", 1) for pair in given.var)
    view = View(span, given.width, wanted, given.open)
    given.out.mkdir(parents=True, exist_ok=True)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    for file in sorted((ROOT / "dashboards").glob(f"hw-{given.only}.json")):
        drawn = page(json.loads(file.read_text("utf-8")), Prometheus(given.prometheus), view)
        target = given.out / f"{file.stem}{given.suffix}.html"
        target.write_text(drawn.html, "utf-8")
        if browser:
            height = min(drawn.height, given.height or drawn.height)
            _shoot(browser, target, (given.width, height))
        empty = f"; nothing to show in: {', '.join(drawn.empty)}" if drawn.empty else ""
        sys.stdout.write(f"{target}{empty}\n")
    if browser is None:
        sys.stderr.write(f"no picture: none of {', '.join(BROWSERS)} is installed\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.preview", description=__doc__)
    parser.add_argument("--prometheus", default="http://localhost:9090", metavar="URL")
    parser.add_argument("--out", type=Path, default=ROOT / "build/pictures", metavar="FOLDER")
    parser.add_argument("--only", default="*", metavar="NAME", help="such as cluster")
    parser.add_argument("--width", type=int, default=1600, metavar="PIXELS")
    parser.add_argument("--height", type=int, metavar="PIXELS", help="only so much of the top")
    parser.add_argument("--minutes", type=float, default=20, help="how much time is shown")
    parser.add_argument("--at", type=float, default=time.time(), help="its end, since 1970")
    parser.add_argument("--var", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--open", action="store_true", help="open the rows that are folded")
    parser.add_argument("--suffix", default="", help="behind the names of the files")
    return parser.parse_args()


def _shoot(browser: str, target: Path, size: tuple[int, int]) -> None:
    """A picture beside the page; subprocess.CalledProcessError where that fails."""
    command = (
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        f"--window-size={size[0]},{size[1]}",
        f"--screenshot={target.with_suffix('.png')}",
        target.resolve().as_uri(),
    )
    subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    sys.exit(main())
