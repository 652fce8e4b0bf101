{{- /*
A file of config/, for the namespace of the release. In the tree that folder is a
symbolic link, which some archives leave out.
Takes a list: the context, the path in config/.
*/ -}}
{{- define "convoy.file" -}}
{{- $root := index . 0 }}{{ $path := index . 1 -}}
{{- $text := $root.Files.Get (printf "config/%s" $path) -}}
{{- if not $text }}{{ fail (printf "the chart lacks config/%s: it has to be packaged by helm package, or used from a whole copy of the tree" $path) }}{{ end -}}
{{- if not (kindIs "string" (fromYaml (printf "name: %s" $root.Release.Namespace)).name) }}{{ fail (printf "namespace %s is no text to YAML: choose another one" $root.Release.Namespace) }}{{ end -}}
{{- replace "convoy-system" $root.Release.Namespace $text -}}
{{- end -}}

{{- /* An image of convoy's. Takes a list: the context, the values of a component. */ -}}
{{- define "convoy.image" -}}
{{- $root := index . 0 }}{{ $image := (index . 1).image -}}
{{- with $root.Values.image.registry }}{{ trimSuffix "/" . }}/{{ end }}{{ $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- /* The service account, and the Deployment up to the spec of its pods. Takes a list: the context, the name, the values of a component. */ -}}
{{- define "convoy.deployment" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $values := index . 2 -}}
{{- $pod := deepCopy $root.Values.pod }}{{ range $key, $value := $values.pod }}{{ $_ := set $pod $key $value }}{{ end -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  {{- with $values.serviceAccountAnnotations }}
  annotations: {{ toYaml . | nindent 4 }}
  {{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {app.kubernetes.io/name: {{ $name }}, app.kubernetes.io/part-of: convoy}
spec:
  replicas: {{ int $values.replicas }}
  selector:
    matchLabels: {app.kubernetes.io/name: {{ $name }}}
  template:
    metadata:
      {{- include "convoy.podMetadata" (list $pod (dict "app.kubernetes.io/name" $name "app.kubernetes.io/part-of" "convoy")) | nindent 6 }}
    spec:
      serviceAccountName: {{ $name }}
      {{- include "convoy.pod" (list $root $pod) | nindent 6 }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app.kubernetes.io/name: {{ $name }}}}
{{- end -}}

{{- /* The metadata of pods. Takes a list: the values of pod, the labels that these cannot change. */ -}}
{{- define "convoy.podMetadata" -}}
{{- $pod := index . 0 -}}
labels: {{ merge (dict) (index . 1) $pod.labels | toYaml | nindent 2 }}
{{- with $pod.annotations }}
annotations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* What the specs of all pods have in common. Takes a list: the context, its values of pod. */ -}}
{{- define "convoy.pod" -}}
{{- $root := index . 0 }}{{ $pod := index . 1 -}}
securityContext:
  runAsNonRoot: true
  {{- with $pod.runAsUser }}
  runAsUser: {{ int64 . }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with get $pod $key }}
{{ $key }}: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* What all containers have in common. */ -}}
{{- define "convoy.securityContext" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- /* What the containers of the Deployments have in common. Takes a list: the context, the values of a component. */ -}}
{{- define "convoy.container" -}}
{{- $root := index . 0 }}{{ $values := index . 1 -}}
image: {{ include "convoy.image" . | quote }}
{{- with $root.Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- with $values.extraEnv }}
env: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.resources }}
resources: {{ toYaml . | nindent 2 }}
{{- end }}
{{ include "convoy.securityContext" . }}
{{- end -}}

{{- /* The flags of both controllers. */ -}}
{{- define "convoy.controllerArgs" -}}
- --namespace={{ .Release.Namespace }}
- --shards={{ int .Values.shards }}
{{- with .Values.installation }}
- {{ printf "--installation=%s" . | quote }}
{{- end }}
{{- with .Values.renderStoreURL }}
- {{ printf "--render-store-url=%s" . | quote }}
{{- end }}
{{- end -}}

{{- /* Where the Secrets of a component are mounted, and what its values mount. Takes a list: the Secrets as dicts of name and secret, the values. */ -}}
{{- define "convoy.volumeMounts" -}}
{{- $mounts := list }}{{ range index . 0 }}{{ $mounts = append $mounts (dict "name" .name "mountPath" (printf "/etc/convoy/%s" .name) "readOnly" true) }}{{ end -}}
{{- with concat $mounts (index . 1).extraVolumeMounts -}}
volumeMounts: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The volumes of these Secrets, and those of the values. Takes the same list. */ -}}
{{- define "convoy.volumes" -}}
{{- $volumes := list }}{{ range index . 0 }}{{ $volumes = append $volumes (dict "name" .name "secret" (dict "secretName" .secret)) }}{{ end -}}
{{- with concat $volumes (index . 1).extraVolumes -}}
volumes: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
