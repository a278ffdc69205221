{{/* What objects share: labels, the environment, and the pod of each profile. */}}
{{- define "hw-exporter.labels" -}}
app.kubernetes.io/name: hw-exporter
{{- with .Values.extraLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "hw-exporter.config" -}}
{{- if .Values.config }}{{ .Values.config }}{{ else }}{{ .Files.Get (printf "files/%s.toml" (eq .Values.profile "minimal" | ternary "minimal" "standard")) }}{{ end }}
{{- end }}

{{- define "hw-exporter.hasFilesystems" -}}
{{- if or .Values.filesystems (eq .Values.profile "full") }}yes{{ end }}
{{- end }}

{{- define "hw-exporter.scheme" -}}
{{- if .Values.tls.enabled }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}
