{{- define "quayside.fullname" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}

{{- define "quayside.labels" -}}
app.kubernetes.io/name: quayside
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "quayside.selectorLabels" -}}
app.kubernetes.io/name: quayside
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "quayside.claimName" -}}{{ .Values.files.existingClaim | default (printf "%s-files" (include "quayside.fullname" .)) }}{{- end }}

{{- define "quayside.hostname" -}}{{ (urlParse .).hostname }}{{- end }}

{{- /* A gateway serves pages of people's programs, needs no root, and gets fewer rights. */ -}}
{{- define "quayside.isGatewayOnly" -}}{{ if eq (join "," .roles) "gateway" }}yes{{ end }}{{- end }}
