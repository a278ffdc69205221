{{/* What objects share: labels, the environment, and the pod of each profile. */}}
{{- define "hw-exporter.labels" -}}
{{- $chart := index . 0 }}
{{- toYaml (merge (dict "app.kubernetes.io/name" "hw-exporter") (index . 1) $chart.Values.extraLabels) }}
{{- end }}

{{- define "hw-exporter.config" -}}
{{- if .Values.config }}{{ .Values.config }}{{ else }}{{ .Files.Get (printf "files/%s.toml" (eq .Values.profile "minimal" | ternary "minimal" "standard")) }}{{ end }}
{{- end }}

{{- define "hw-exporter.hasFilesystems" -}}
{{- if or .Values.filesystems (eq .Values.profile "full") }}yes{{ end }}
{{- end }}

{{- define "hw-exporter.scheme" -}}
{{- if .Values.tls.enabled }}https{{ else }}http{{ end }}
{{- end }}

{{/* A generated file whose links lead to this release, or to the runbooks of the user. */}}
{{- define "hw-exporter.linked" -}}
{{- $chart := index . 0 }}
{{- $text := $chart.Files.Get (index . 1) }}
{{- with $chart.Values.prometheusRule.runbooks }}
{{- $text = $text | replace "http://hw-exporter.hw-exporter.svc:8080/runbooks" (trimSuffix "/" .) }}
{{- end }}
{{- $ours := printf "%s://hw-exporter.%s.svc" (include "hw-exporter.scheme" $chart) $chart.Release.Namespace }}
{{- $text | replace "http://hw-exporter.hw-exporter.svc" $ours }}
{{- end }}

{{/* The user's affinity; with runtimeClass, each of its terms also says which nodes are GPU nodes. */}}
{{- define "hw-exporter.affinity" -}}
{{- $chart := index . 0 }}
{{- $affinity := deepCopy $chart.Values.affinity }}
{{- if $chart.Values.runtimeClass.enabled }}
{{- $operator := ternary "In" "NotIn" (index . 1) }}
{{- $ours := dict "key" "nvidia.com/gpu.present" "operator" $operator "values" (list "true") }}
{{- $node := $affinity.nodeAffinity | default dict }}
{{- $required := $node.requiredDuringSchedulingIgnoredDuringExecution | default dict }}
{{- $terms := list }}
{{- range $required.nodeSelectorTerms | default (list dict) }}
{{- $terms = append $terms (set . "matchExpressions" (append (.matchExpressions | default list) $ours)) }}
{{- end }}
{{- $_ := set $required "nodeSelectorTerms" $terms }}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" $required }}
{{- $_ := set $affinity "nodeAffinity" $node }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}

{{- define "hw-exporter.milliseconds" -}}
{{- $unit := regexFind "[a-z]+$" . }}
{{- mul (regexFind "^[0-9]+" . | int64) (get (dict "ms" 1 "s" 1000 "m" 60000) $unit) }}
{{- end }}

{{/* Kubernetes 1.30 or newer: recursive read-only mounts, AppArmor as a field, admission policies. */}}
{{- define "hw-exporter.isNew" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}yes{{ end }}
{{- end }}

{{- define "hw-exporter.env" -}}
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
# On GPU nodes the NVIDIA runtime mounts the driver's library; no effect elsewhere.
- name: NVIDIA_VISIBLE_DEVICES
  value: all
- name: NVIDIA_DRIVER_CAPABILITIES
  value: utility{{ if .Values.gpuSharing }},compute{{ end }}
{{- if .Values.ebpf.enabled }}
- name: APP__EBPF__ENABLED
  value: "true"
{{- end }}
{{- if eq .Values.profile "full" }}
- name: APP__SOURCES__ENABLED
  value: nvme_health
{{- end }}
{{- if include "hw-exporter.hasFilesystems" . }}
- name: APP__SOURCES__DISABLED
  value: "[]"
{{- end }}
{{- if .Values.nodeConditions.enabled }}
- name: APP__NODE_CONDITIONS__ENABLED
  value: "true"
{{- end }}
{{- if .Values.nodeConditions.events }}
- name: APP__NODE_CONDITIONS__EVENTS
  value: "true"
{{- end }}
{{- if .Values.nodeConditions.labels }}
- name: APP__NODE_CONDITIONS__LABELS_DIR
  value: /etc/kubernetes/node-feature-discovery/features.d
{{- end }}
{{- if or .Values.nodeConditions.enabled .Values.nodeConditions.events .Values.nodeConditions.labels }}
- name: APP__NODE_CONDITIONS__DRY_RUN
  value: {{ .Values.nodeConditions.dryRun | quote }}
{{- end }}
{{- if .Values.tls.enabled }}
- name: APP__SERVER__TLS__CERT_FILE
  value: /etc/hw-exporter-tls/tls.crt
- name: APP__SERVER__TLS__KEY_FILE
  value: /etc/hw-exporter-tls/tls.key
{{- end }}
{{- if .Values.auth.bearerTokenSecret }}
- name: APP__SERVER__AUTH__BEARER_TOKEN_FILE
  value: /etc/hw-exporter-auth/{{ .Values.auth.bearerTokenKey }}
{{- end }}
{{- end }}

{{/* Values that the manual forbids together, a sentence each; all of them are said at once. */}}
{{- define "hw-exporter.check" -}}
{{- $wrong := list }}
{{- $isMinimal := eq .Values.profile "minimal" }}
{{- if and $isMinimal .Values.gpuSharing }}
{{- $wrong = append $wrong "gpuSharing needs the profile standard or full: the profile minimal runs without root and cannot read the directories of HAMi and MPS." }}
{{- end }}
{{- if and $isMinimal .Values.nodeConditions.labels }}
{{- $wrong = append $wrong "nodeConditions.labels needs the profile standard or full: the profile minimal runs without root and cannot write the directory of node-feature-discovery." }}
{{- end }}
{{- if and $isMinimal .Values.ebpf.enabled }}
{{- $wrong = append $wrong "ebpf.enabled needs the profile standard or full: bpftrace runs as root only, and the profile minimal runs without root." }}
{{- end }}
{{- if and .Values.podMonitor.enabled .Values.serviceMonitor.enabled }}
{{- $wrong = append $wrong "podMonitor.enabled and serviceMonitor.enabled exclude each other: every pod would be scraped twice." }}
{{- end }}
{{- if and .Values.scrapeAnnotations (or .Values.podMonitor.enabled .Values.serviceMonitor.enabled) }}
{{- $wrong = append $wrong "scrapeAnnotations and a monitor exclude each other: every pod would be scraped twice." }}
{{- end }}
{{- $writes := or .Values.nodeConditions.enabled .Values.nodeConditions.events }}
{{- if and .Values.networkPolicy.enabled $writes }}
{{- $wrong = append $wrong "networkPolicy.enabled and nodeConditions exclude each other: the policy allows no connection to the API server." }}
{{- end }}
{{- if and $writes (not (include "hw-exporter.isNew" .)) }}
{{- $wrong = append $wrong (printf "nodeConditions needs Kubernetes 1.30 or newer, and this is %s: without ValidatingAdmissionPolicy the pods could write about every node." .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- range $name := list "podMonitor" "serviceMonitor" }}
{{- $its := index $.Values $name }}
{{- if gt (include "hw-exporter.milliseconds" $its.scrapeTimeout | int64) (include "hw-exporter.milliseconds" $its.interval | int64) }}
{{- $wrong = append $wrong (printf "%s.scrapeTimeout is %s, but must not be longer than %s.interval, %s: the Prometheus operator would ignore the monitor." $name $its.scrapeTimeout $name $its.interval) }}
{{- end }}
{{- end }}
{{- if regexMatch "[:@][^/]*$" .Values.image.repository }}
{{- $wrong = append $wrong (printf "image.repository is %q, but tag and digest belong in image.tag, such as 0.1.0@sha256:DIGEST." .Values.image.repository) }}
{{- end }}
{{- if not (regexMatch "^([A-Za-z0-9_][-.A-Za-z0-9_]*(@sha256:[0-9a-f]+)?)?$" .Values.image.tag) }}
{{- $wrong = append $wrong (printf "image.tag is %q, but must be a tag such as 0.1.0, with or without a digest after it: 0.1.0@sha256:DIGEST." .Values.image.tag) }}
{{- end }}
{{- range .Values.env }}
{{- if and (eq .name "NVIDIA_MIG_MONITOR_DEVICES") (ne $.Values.profile "full") }}
{{- $wrong = append $wrong "env: NVIDIA_MIG_MONITOR_DEVICES needs the profile full: the NVIDIA runtime grants it to privileged pods only." }}
{{- end }}
{{- end }}
{{- range $place, $resources := dict "resources" .Values.resources "ebpf.resources" .Values.ebpf.resources }}
{{- range $kind, $quantities := $resources }}
{{- range $name, $quantity := $quantities }}
{{- if not (regexMatch "^[0-9]+([.][0-9]+)?(m|k|M|G|T|P|E|[KMGTPE]i|[eE][+-]?[0-9]+)?$" (toString $quantity)) }}
{{- $wrong = append $wrong (printf "%s.%s.%s is %q, but must be a quantity such as 200m or 256Mi." $place $kind $name (toString $quantity)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if $wrong }}{{ fail (join "\n" $wrong) }}{{ end }}
{{- end }}
