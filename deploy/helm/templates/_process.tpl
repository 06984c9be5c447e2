{{/* Labels that select the pods of a role: of one release, so that a namespace may hold several. */}}
{{- define "holderbook.selector" -}}
app.kubernetes.io/name: holderbook
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{/* Metadata of an object that belongs to a role. */}}
{{- define "holderbook.metadata" -}}
name: {{ printf "%s-%s" .root.Release.Name (.name | default .role) }}
labels:
  {{- include "holderbook.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{/* Names of the secrets that a role reads, as one text. No role but the owner's reads the owner's address. */}}
{{- define "holderbook.secrets" -}}
{{- $all := concat (list "DATABASE_URL" "DATABASE_OWNER_URL" "CALLBACK_MASTER_KEY" "PII_KEYS") (.root.Values.secret.settings | default list) -}}
{{- $readers := list "DATABASE_URL" "REDIS_URL" "LEDGER_HEADERS" -}}
{{- range $name := $all | uniq | sortAlpha -}}
{{- $isOwners := eq $name "DATABASE_OWNER_URL" -}}
{{- $isAgents := hasPrefix "TA_" $name -}}
{{- if or
  (eq $.reads "everything")
  (and (eq $.reads "the database") (or $isOwners (eq $name "DATABASE_URL")))
  (and (eq $.reads "the ledger") (has $name $readers))
  (and (eq $.reads "what is processed") (not $isOwners))
  (and (eq $.reads "what is served") (not $isOwners) (not $isAgents))
}} {{ $name }}{{ end -}}
{{- end -}}
{{- end }}

{{/*
A pod with one process.
  root, role; args: of `holderbook`; reads: which secrets; resources: of which role
  port: absent for commands that end; then `restart` says when they run again
  ready: path that says whether it is ready; drains: waits until no Service sends it requests
*/}}
{{- define "holderbook.pod" -}}
{{- $values := .root.Values -}}
{{- $secrets := include "holderbook.secrets" . | trim | splitList " " -}}
metadata:
  labels:
    {{- include "holderbook.selector" . | nindent 4 }}
    app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
spec:
  automountServiceAccountToken: false
  # Variables such as ACME_PORT, one set for each Service, are not settings.
  enableServiceLinks: false
  # The program ends within 20 seconds.
  terminationGracePeriodSeconds: 30
  restartPolicy: {{ .restart | default "Always" }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    # The image's user `node`.
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    seccompProfile: { type: RuntimeDefault }
  {{- if .port }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "holderbook.selector" . | nindent 10 }}
  {{- end }}
  containers:
    - name: holderbook
      image: {{ printf "%s:%s" $values.image.repository ($values.image.tag | default .root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .args }}
      env:
        {{- range $name, $value := $values.settings }}
        - { name: {{ $name }}, value: {{ $value | toString | quote }} }
        {{- end }}
        {{- range $secrets }}
        - { name: {{ . }}_FILE, value: /run/secrets/{{ . }} }
        {{- end }}
        {{- if eq .port "http" }}
        - { name: PORT, value: "4000" }
        {{- else if .port }}
        - { name: METRICS_PORT, value: "4001" }
        {{- end }}
      {{- if .port }}
      ports:
        - { name: {{ .port }}, containerPort: {{ eq .port "http" | ternary 4000 4001 }} }
      # Up to five minutes, for a ledger or a database that is slow to answer.
      startupProbe:
        httpGet: { path: {{ .ready }}, port: {{ .port }} }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 60
      readinessProbe:
        httpGet: { path: {{ .ready }}, port: {{ .port }} }
        periodSeconds: 5
        timeoutSeconds: 5
      # Needs no database: while that is away, a restart would not help.
      livenessProbe:
        httpGet: { path: /metrics, port: {{ .port }} }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      {{- end }}
      {{- if .drains }}
      lifecycle:
        preStop:
          exec: { command: [sleep, "5"] }
      {{- end }}
      resources: {{ toJson .resources }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        - { name: secrets, mountPath: /run/secrets, readOnly: true }
        {{- if $values.filesSecret }}
        - { name: files, mountPath: /config, readOnly: true }
        {{- end }}
  volumes:
    # Nothing that lasts: everything that must is in the database or a Secret.
    - name: data
      emptyDir: {}
    - name: tmp
      emptyDir: { medium: Memory, sizeLimit: 64Mi }
    - name: secrets
      secret:
        secretName: {{ $values.secret.name }}
        defaultMode: 0440
        items:
          {{- range $secrets }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    {{- if $values.filesSecret }}
    - name: files
      secret: { secretName: {{ $values.filesSecret }}, defaultMode: 0440 }
    {{- end }}
{{- end }}

{{/* A Deployment of a role and its disruption budget: replicas, strategy, and what the pod needs. */}}
{{- define "holderbook.deployment" }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "holderbook.metadata" . | nindent 2 }}
spec:
  replicas: {{ .replicas }}
  strategy: {{ toJson .strategy }}
  selector:
    matchLabels:
      {{- include "holderbook.selector" . | nindent 6 }}
  template:
    {{- include "holderbook.pod" . | nindent 4 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "holderbook.metadata" . | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "holderbook.selector" . | nindent 6 }}
{{ end }}
