// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return obj
}

// live is an object with the managed fields of convoy and of hand.
func live(t *testing.T, manifest, convoy, hand string) *unstructured.Unstructured {
	t.Helper()
	obj := object(t, manifest)
	var entries []metav1.ManagedFieldsEntry
	if convoy != "" {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: "convoy", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(convoy)})
	}
	entries = append(entries,
		metav1.ManagedFieldsEntry{Manager: "hand", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(hand)},
		metav1.ManagedFieldsEntry{Manager: "scaler", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)})
	obj.SetManagedFields(entries)
	return obj
}

func cause(err *field.Error) metav1.StatusCause {
	return metav1.StatusCause{Type: metav1.CauseType(err.Type), Field: err.Field, Message: err.ErrorBody()}
}

func TestImmutable(t *testing.T) {
	at := field.NewPath("spec", "a")
	for _, test := range []struct {
		cause *field.Error
		want  bool
	}{
		{field.Invalid(at, "x", "field is immutable"), true},
		{field.Invalid(at, map[string]any{"a": "b: c"}, "field is immutable"), true},
		{field.Forbidden(at, "field is immutable when `immutable` is set"), true},
		{field.Forbidden(at, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"), true},
		{field.Forbidden(at, "updates to statefulset spec for fields other than 'replicas', 'template' are forbidden"), true},
		{field.Forbidden(at, "updates to parameters are forbidden."), true},
		{field.Forbidden(at, "pod updates may not change fields other than `spec.containers[*].image`\n{a: b}"), true},
		{field.Forbidden(at, "may not be changed in an update."), true},
		{field.Forbidden(at, "field can not be less than previous value"), true},
		{field.Invalid(at, []string{"10.0.0.2"}, "may not change once set"), true},
		{field.Invalid(at, "x", "cannot change roleRef"), true},
		{field.Invalid(at, "object", "failed rule: self == oldSelf"), true},
		{field.Invalid(at, "object", "Value is immutable"), true},

		{field.Invalid(at, "", "may not be specified when `value` is not empty"), false},
		{field.Invalid(at, "field is immutable", "may not be specified when `value` is not empty"), false},
		{field.Duplicate(at, "immutable"), false},
		{field.NotSupported(at, "immutable", []string{"a"}), false},
		{field.Forbidden(at, "may not specify more than 1 handler type"), false},
		{field.Forbidden(at, "may not specify more than 1 volume type"), false},
		{field.Forbidden(at, "may not be specified when strategy `type` is 'Recreate'"), false},
		{field.Invalid(at, -1, "must be greater than or equal to 0"), false},
		{field.Invalid(at, "object", "size is fixed"), false},
		{field.Required(at, ""), false},
	} {
		NewWithT(t).Expect(Immutable(cause(test.cause))).To(Equal(test.want), test.cause.Error())
	}
}

const (
	containers = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, template: {spec: {containers: [%]}}}}"
	inPod      = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},%}}}}}}`
	atWeb      = `.spec.template.spec.containers[name="web"]`
)

func in(frame, content string) string {
	i := slices.Index([]byte(frame), '%')
	return frame[:i] + content + frame[i+1:]
}

// conflict is an edit that server-side apply leaves beside what is desired.
type conflict struct {
	name string
	// live is the object after the edit, with what hand and convoy own of it.
	live, convoy, hand string
	desired            string
	// causes are what the server says for as long as the object has all of together, or for ever
	// where that is nothing.
	causes   []*field.Error
	together []fieldpath.Path
	// taken is what has to go, and merged the specification without it.
	taken  []string
	merged string
}

// refuses tells whether the server refuses an object.
func (c conflict) refuses(obj *unstructured.Unstructured) bool {
	return !slices.ContainsFunc(c.together, func(path fieldpath.Path) bool { return !has(obj.Object, path) })
}

// paths gives paths of a specification.
func paths(all ...[]any) []fieldpath.Path {
	var found []fieldpath.Path
	for _, parts := range all {
		found = append(found, fieldpath.MakePathOrDie(append([]any{"spec"}, parts...)...))
	}
	return found
}

// inWeb gives the path of something in the container web, keyed the path element of an item.
func inWeb(parts ...any) []any {
	return append([]any{"template", "spec", "containers", keyed("name", "web")}, parts...)
}

func keyed(fields ...any) fieldpath.PathElement { return fieldpath.KeyElementByFields(fields...) }

func conflicts() []conflict {
	container := field.NewPath("spec", "template", "spec", "containers").Index(0)
	volume := field.NewPath("spec", "template", "spec", "volumes").Index(0)
	port := field.NewPath("spec", "ports").Index(1)
	service := func(ports string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [" + ports + "]}}"
	}
	more := func(err *field.Error) []*field.Error { return []*field.Error{err} }
	return []conflict{
		{
			"a variable of another kind", in(containers, "{name: web, env: [{name: A, value: a}, {name: B, value: x}, {name: C, value: c}]}"),
			in(inPod, `"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"B\"}":{".":{},"f:name":{}}}`),
			in(inPod, `"f:env":{"k:{\"name\":\"B\"}":{"f:value":{}},"k:{\"name\":\"C\"}":{".":{},"f:name":{},"f:value":{}}}`),
			in(containers, "{name: web, env: [{name: A, value: a}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]}"),
			more(field.Invalid(container.Child("env").Index(1).Child("valueFrom"), "", "may not be specified when `value` is not empty")),
			paths(inWeb("env", keyed("name", "B"), "value"), inWeb("env", keyed("name", "B"), "valueFrom")),
			[]string{atWeb + `.env[name="B"].value`},
			in(containers, "{name: web, env: [{name: A, value: a}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: C, value: c}]}"),
		},
		{
			"a variable of another kind, the other way about", in(containers, "{name: web, env: [{name: B, valueFrom: {fieldRef: {fieldPath: a}}}]}"),
			in(inPod, `"f:env":{"k:{\"name\":\"B\"}":{".":{},"f:name":{}}}`), in(inPod, `"f:env":{"k:{\"name\":\"B\"}":{"f:valueFrom":{"f:fieldRef":{}}}}`),
			in(containers, "{name: web, env: [{name: B, value: x}]}"),
			more(field.Invalid(container.Child("env").Index(0).Child("valueFrom"), "", "may not be specified when `value` is not empty")),
			paths(inWeb("env", keyed("name", "B"), "value"), inWeb("env", keyed("name", "B"), "valueFrom")),
			[]string{atWeb + `.env[name="B"].valueFrom`}, in(containers, "{name: web, env: [{name: B, value: x}]}"),
		},
		{
			"a variable from elsewhere", in(containers, "{name: web, env: [{name: B, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}"),
			in(inPod, `"f:env":{"k:{\"name\":\"B\"}":{".":{},"f:name":{}}}`), in(inPod, `"f:env":{"k:{\"name\":\"B\"}":{"f:valueFrom":{"f:configMapKeyRef":{}}}}`),
			in(containers, "{name: web, env: [{name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]}"),
			more(field.Invalid(container.Child("env").Index(0).Child("valueFrom"), "", "may not have more than one field specified at a time")),
			paths(inWeb("env", keyed("name", "B"), "valueFrom", "secretKeyRef"), inWeb("env", keyed("name", "B"), "valueFrom", "configMapKeyRef")),
			[]string{atWeb + `.env[name="B"].valueFrom.configMapKeyRef`}, in(containers, "{name: web, env: [{name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]}"),
		},
		{
			"the port of a Service", service("{name: http, port: 81, protocol: TCP, targetPort: 8080, nodePort: 30000}, {name: admin, port: 90, protocol: TCP}"),
			"", `{"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}},"k:{\"port\":90,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}}}}`,
			service("{name: http, port: 80, targetPort: 8080}"), more(field.Duplicate(port.Child("name"), "http")),
			paths([]any{"ports", keyed("port", 80, "protocol", "TCP")}, []any{"ports", keyed("port", 81, "protocol", "TCP")}),
			[]string{`.spec.ports[port=81,protocol="TCP"]`}, service("{name: admin, port: 90, protocol: TCP}, {name: http, port: 80, targetPort: 8080}"),
		},
		{
			"the protocol of a port", service("{name: dns, port: 53, protocol: UDP}"), "",
			`{"f:spec":{"f:ports":{"k:{\"port\":53,\"protocol\":\"UDP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}}`,
			service("{name: dns, port: 53}"), more(field.Duplicate(port.Child("name"), "dns")),
			paths([]any{"ports", keyed("port", 53, "protocol", "TCP")}, []any{"ports", keyed("port", 53, "protocol", "UDP")}),
			[]string{`.spec.ports[port=53,protocol="UDP"]`}, service("{name: dns, port: 53}"),
		},
		{
			"the port of a Service without names", service("{port: 81, protocol: TCP, targetPort: 8080}"),
			"", `{"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}}}}`,
			service("{port: 80, targetPort: 8080}"), more(field.Required(port.Child("name"), "")),
			paths([]any{"ports", keyed("port", 80, "protocol", "TCP")}, []any{"ports", keyed("port", 81, "protocol", "TCP")}),
			[]string{`.spec.ports[port=81,protocol="TCP"]`}, service("{port: 80, targetPort: 8080}"),
		},
		{
			"a port without a name beside one with", service("{port: 81, protocol: TCP}, {name: admin, port: 90, protocol: TCP}"),
			"", `{"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":90,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}}}}`,
			service("{name: http, port: 80}"), more(field.Required(port.Child("name"), "")),
			paths([]any{"ports", keyed("port", 80, "protocol", "TCP")}, []any{"ports", keyed("port", 81, "protocol", "TCP")}),
			[]string{`.spec.ports[port=81,protocol="TCP"]`}, service("{name: admin, port: 90, protocol: TCP}, {name: http, port: 80}"),
		},
		{
			"the number of a container's port", in(containers, "{name: web, ports: [{name: http, containerPort: 9090, protocol: TCP}]}"), in(inPod, `"f:ports":{}`),
			in(inPod, `"f:ports":{"k:{\"containerPort\":9090,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}}`),
			in(containers, "{name: web, ports: [{name: http, containerPort: 8080}]}"),
			more(field.Duplicate(container.Child("ports").Index(1).Child("name"), "http")),
			paths(inWeb("ports", keyed("containerPort", 8080, "protocol", "TCP")), inWeb("ports", keyed("containerPort", 9090, "protocol", "TCP"))),
			[]string{atWeb + `.ports[containerPort=9090,protocol="TCP"]`}, in(containers, "{name: web, ports: [{name: http, containerPort: 8080}]}"),
		},
		{
			"another probe", in(containers, "{name: web, readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 5, timeoutSeconds: 1}}"), in(inPod, `"f:image":{}`),
			in(inPod, `"f:readinessProbe":{".":{},"f:tcpSocket":{".":{},"f:port":{}},"f:periodSeconds":{}}`),
			in(containers, "{name: web, readinessProbe: {httpGet: {port: 80}}}"),
			more(field.Forbidden(container.Child("readinessProbe", "tcpSocket"), "may not specify more than 1 handler type")),
			paths(inWeb("readinessProbe", "httpGet"), inWeb("readinessProbe", "tcpSocket")),
			[]string{atWeb + ".readinessProbe.tcpSocket"}, in(containers, "{name: web, readinessProbe: {httpGet: {port: 80}, periodSeconds: 5, timeoutSeconds: 1}}"),
		},
		{
			"another probe, where the server names the desired one", in(containers, "{name: web, readinessProbe: {httpGet: {port: 80}, timeoutSeconds: 1}}"), in(inPod, `"f:image":{}`),
			in(inPod, `"f:readinessProbe":{"f:httpGet":{".":{},"f:port":{}}}`), in(containers, "{name: web, readinessProbe: {tcpSocket: {port: 80}}}"),
			more(field.Forbidden(container.Child("readinessProbe", "tcpSocket"), "may not specify more than 1 handler type")),
			paths(inWeb("readinessProbe", "httpGet"), inWeb("readinessProbe", "tcpSocket")),
			[]string{atWeb + ".readinessProbe.httpGet"}, in(containers, "{name: web, readinessProbe: {tcpSocket: {port: 80}, timeoutSeconds: 1}}"),
		},
		{
			"another volume", "{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: [{name: v, hostPath: {path: /a}}, {name: w, hostPath: {path: /b}}]}}}}",
			`{"f:spec":{"f:template":{"f:spec":{"f:volumes":{"k:{\"name\":\"v\"}":{".":{},"f:name":{}}}}}}}`,
			`{"f:spec":{"f:template":{"f:spec":{"f:volumes":{"k:{\"name\":\"v\"}":{"f:hostPath":{".":{},"f:path":{}}},"k:{\"name\":\"w\"}":{".":{},"f:name":{},"f:hostPath":{}}}}}}}`,
			"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: [{name: v, emptyDir: {}}]}}}}",
			more(field.Forbidden(volume.Child("hostPath"), "may not specify more than 1 volume type")),
			paths([]any{"template", "spec", "volumes", keyed("name", "v"), "emptyDir"}, []any{"template", "spec", "volumes", keyed("name", "v"), "hostPath"}),
			[]string{`.spec.template.spec.volumes[name="v"].hostPath`},
			"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: [{name: v, emptyDir: {}}, {name: w, hostPath: {path: /b}}]}}}}",
		},
		{
			"a default of another strategy, which is nobody's", "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}}",
			`{"f:spec":{"f:strategy":{"f:type":{}}}}`, `{"f:spec":{"f:paused":{}}}`, "{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {type: Recreate}}}",
			more(field.Forbidden(field.NewPath("spec", "strategy", "rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'")),
			paths([]any{"strategy", "rollingUpdate"}),
			[]string{".spec.strategy.rollingUpdate"}, "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, strategy: {type: Recreate}}}",
		},
		{
			"a whole that is named", "{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 1, more: 1, replicas: 3}}",
			`{"f:spec":{"f:old":{}}}`, `{"f:spec":{"f:maxUnavailable":{}}}`, "{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1}}",
			more(field.Invalid(field.NewPath("spec"), "", "minAvailable and maxUnavailable cannot be both set")),
			paths([]any{"minAvailable"}, []any{"maxUnavailable"}),
			[]string{".spec.maxUnavailable"}, "{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, more: 1, replicas: 3}}",
		},
		{
			"a limit under a request", in(containers, "{name: web, resources: {requests: {memory: 1Gi}, limits: {memory: 1Gi}}}"), in(inPod, `"f:image":{}`),
			in(inPod, `"f:resources":{"f:requests":{"f:memory":{}},"f:limits":{".":{},"f:memory":{}}}`), in(containers, "{name: web, resources: {requests: {memory: 2Gi}}}"),
			more(field.Invalid(container.Child("resources", "requests"), "2Gi", "must be less than or equal to memory limit of 1Gi")),
			paths(inWeb("resources", "limits", "memory")),
			[]string{atWeb + ".resources.limits"}, in(containers, "{name: web, resources: {requests: {memory: 2Gi}}}"),
		},
		{
			"a whole specification that is named, in which others have more",
			"{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {clusterIP: 10.0.0.1, maxUnavailable: 1, replicas: 7, selector: {matchLabels: {a: b}, matchExpressions: [x]}, size: 3}}",
			`{"f:spec":{"f:selector":{"f:matchLabels":{"f:a":{}}}}}`, `{"f:spec":{"f:clusterIP":{},"f:maxUnavailable":{},"f:replicas":{},"f:selector":{"f:matchExpressions":{}},"f:size":{}}}`,
			"{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}",
			more(field.Invalid(field.NewPath("spec"), "", "minAvailable and maxUnavailable cannot be both set")),
			paths([]any{"minAvailable"}, []any{"maxUnavailable"}),
			[]string{".spec.maxUnavailable"},
			"{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {clusterIP: 10.0.0.1, minAvailable: 1, replicas: 7, selector: {matchLabels: {a: b}, matchExpressions: [x]}, size: 3}}",
		},
		{
			"a whole container that is named",
			in(containers, "{name: web, env: [{name: C, value: c}], tty: true, readinessProbe: {tcpSocket: {port: 80, host: h}, periodSeconds: 5}}, {name: sidecar, image: s, tty: true}"),
			in(inPod, `"f:image":{}`),
			`{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{
				"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:env":{".":{},"k:{\"name\":\"C\"}":{".":{},"f:name":{},"f:value":{}}},"f:tty":{},"f:readinessProbe":{".":{},"f:periodSeconds":{},"f:tcpSocket":{".":{},"f:port":{},"f:host":{}}}},
				"k:{\"name\":\"sidecar\"}":{".":{},"f:name":{},"f:image":{},"f:tty":{}}}}}}}`,
			in(containers, "{name: web, readinessProbe: {httpGet: {port: 80}}}"),
			more(field.Invalid(container, "", "one kind of probe only")),
			paths(inWeb("readinessProbe", "httpGet"), inWeb("readinessProbe", "tcpSocket")),
			[]string{atWeb + ".readinessProbe.tcpSocket"},
			in(containers, "{name: web, env: [{name: C, value: c}], tty: true, readinessProbe: {httpGet: {port: 80}, periodSeconds: 5}}, {name: sidecar, image: s, tty: true}"),
		},
		{
			"a whole object that is named", "{apiVersion: v1, kind: X, data: {k: v}, metadata: {labels: {l: v}}, status: {a: 1}, spec: {replicas: 3, mode: {name: m, fast: true}}}",
			"", `{"f:data":{"f:k":{}},"f:metadata":{"f:labels":{"f:l":{}}},"f:status":{"f:a":{}},"f:spec":{"f:replicas":{},"f:mode":{".":{},"f:name":{},"f:fast":{}}}}`,
			"{apiVersion: v1, kind: X, spec: {mode: {name: m}, safe: true}}",
			more(field.Invalid(nil, "", "what is fast is not safe")),
			paths([]any{"safe"}, []any{"mode", "fast"}),
			[]string{".spec.mode.fast"}, "{apiVersion: v1, kind: X, spec: {replicas: 3, mode: {name: m}, safe: true}}",
		},
		{
			"a map that is named, of which one thing is in the way", in(containers, "{name: web, resources: {requests: {memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}"), in(inPod, `"f:image":{}`),
			in(inPod, `"f:resources":{"f:requests":{"f:memory":{}},"f:limits":{".":{},"f:cpu":{},"f:memory":{}}}`), in(containers, "{name: web, resources: {requests: {memory: 2Gi}}}"),
			more(field.Invalid(container.Child("resources", "limits"), "", "is less than the request")),
			paths(inWeb("resources", "limits", "memory")),
			[]string{atWeb + ".resources.limits.memory"}, in(containers, "{name: web, resources: {requests: {memory: 2Gi}, limits: {cpu: 1}}}"),
		},
		{
			"a list that is not desired, of which one item is in the way", "{apiVersion: v1, kind: X, spec: {rules: [{name: a, x: 1}, {name: b, x: 1}]}}", "",
			`{"f:spec":{"f:rules":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:x":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:x":{}}}}}`,
			"{apiVersion: v1, kind: X, spec: {size: 1}}", more(field.Invalid(field.NewPath("spec", "rules").Index(1).Child("x"), "", "too much for the size")),
			paths([]any{"rules", keyed("name", "b")}),
			[]string{`.spec.rules[name="b"]`}, "{apiVersion: v1, kind: X, spec: {size: 1, rules: [{name: a, x: 1}]}}",
		},
		{
			"what tells an item apart is not in the way", service("{port: 80, protocol: TCP, appProtocol: x}"), "",
			`{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{},"f:appProtocol":{}}}}}`,
			service("{port: 80}"), more(field.Invalid(field.NewPath("spec", "ports").Index(0), "", "no protocols here")),
			paths([]any{"ports", keyed("port", 80, "protocol", "TCP"), "appProtocol"}),
			[]string{`.spec.ports[port=80,protocol="TCP"].appProtocol`}, service("{port: 80, protocol: TCP}"),
		},
		{
			"only what cannot change", "{apiVersion: v1, kind: Service, spec: {a: 1, b: 1}}", "", `{"f:spec":{"f:b":{}}}`, "{apiVersion: v1, kind: Service, spec: {a: 2}}",
			more(field.Invalid(field.NewPath("spec", "a"), "", "field is immutable")), nil, nil, "",
		},
		{
			"only what is wrong by itself", "{apiVersion: v1, kind: Service, spec: {a: 1, b: 1}}", "", `{"f:spec":{"f:b":{}}}`, "{apiVersion: v1, kind: Service, spec: {a: 2}}",
			more(field.Invalid(field.NewPath("spec", "a"), "2", "must be less")), nil, nil, "",
		},
		{
			"nowhere", "{apiVersion: v1, kind: Service, spec: {a: 1, list: [1]}}", "", `{"f:spec":{"f:b":{}}}`, "{apiVersion: v1, kind: Service, spec: {a: 2, list: [2]}}",
			[]*field.Error{
				field.Invalid(field.NewPath("status", "x").Index(7), "", ""), field.Invalid(nil, "", ""), field.Invalid(field.NewPath("spec", "list").Index(0), "", ""),
				field.Invalid(field.NewPath("spec", "a", "deeper"), "", ""),
			}, nil, nil, "",
		},
	}
}

// answer is a server's refusal.
func answer(errs ...*field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Kind: "X"}, "x", errs)
}

func TestInTheWay(t *testing.T) {
	for _, test := range conflicts() {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			live, desired := live(t, test.live, test.convoy, test.hand), object(t, test.desired)
			before, refusal := live.DeepCopy(), answer(test.causes...)
			fields, result, err := InTheWay(live, desired, refusal, func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				if test.refuses(obj) {
					return nil, refusal
				}
				return obj, nil
			}, apierrors.IsInvalid)
			g.Expect(live).To(Equal(before))
			if test.taken == nil {
				g.Expect(err).To(Equal(refusal))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var taken []string
			fields.Iterate(func(path fieldpath.Path) { taken = append(taken, path.String()) })
			g.Expect(taken).To(Equal(test.taken))
			g.Expect(result.Object["spec"]).To(Equal(object(t, test.merged).Object["spec"]))
		})
	}
}

// TestInTheWayInTurns: a refusal may hide another one, and each names what is in the way.
func TestInTheWayInTurns(t *testing.T) {
	g := NewWithT(t)
	live := live(t, "{apiVersion: v1, kind: X, spec: {a: 1, b: 1, c: 1}}", "", `{"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`)
	for _, denial := range []error{nil, apierrors.NewForbidden(schema.GroupResource{}, "x", nil)} {
		fields, _, err := InTheWay(live, object(t, "{apiVersion: v1, kind: X, spec: {d: 1}}"), answer(field.Forbidden(field.NewPath("spec", "a"), "no a")),
			func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				spec := obj.Object["spec"].(map[string]any)
				switch {
				case spec["a"] != nil:
					return nil, answer(field.Forbidden(field.NewPath("spec", "a"), "no a"))
				case denial != nil:
					return nil, denial
				case spec["b"] != nil:
					return nil, answer(field.Forbidden(field.NewPath("spec", "b"), "no b"))
				}
				return obj, nil
			}, apierrors.IsInvalid)
		if denial != nil {
			g.Expect(err).To(Equal(denial), "it says nothing of what is in the way")
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(fields.String()).To(Equal(".spec.a\n.spec.b"))
	}
}

// TestInTheWayIsFoundWithFewQuestions, or not at all.
func TestInTheWayIsFoundWithFewQuestions(t *testing.T) {
	const many = 1000
	spec, owned := map[string]any{}, map[string]any{}
	for i := range many {
		spec[fmt.Sprint("k", i)], owned[fmt.Sprint("f:k", i)] = int64(1), map[string]any{}
	}
	fields, err := json.Marshal(map[string]any{"f:spec": owned})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	live := live(t, "{apiVersion: v1, kind: X}", "", string(fields))
	live.Object["spec"] = spec
	desired, refusal := object(t, "{apiVersion: v1, kind: X, spec: {d: 1}}"), answer(field.Invalid(field.NewPath("spec"), "", "too much"))
	for _, test := range []struct {
		name    string
		refuses func(spec map[string]any) bool
		want    string
	}{
		{"one of many", func(spec map[string]any) bool { return spec["k777"] != nil }, ".spec.k777"},
		{"two of many", func(spec map[string]any) bool { return spec["k7"] != nil || spec["k777"] != nil }, ".spec.k7\n.spec.k777"},
		{"half of them", func(spec map[string]any) bool { return len(spec) > many/2 }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			asked := 0
			fields, _, err := InTheWay(live, desired, refusal, func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				if asked++; test.refuses(obj.Object["spec"].(map[string]any)) {
					return nil, refusal
				}
				return obj, nil
			}, apierrors.IsInvalid)
			g.Expect(asked).To(BeNumerically("<=", maxQuestions+1))
			if test.want == "" {
				g.Expect(err).To(Equal(refusal), "what cannot be told stays")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(fields.String()).To(Equal(test.want))
		})
	}
}

func TestMergedTakesOffWhatIsDesiredNoMore(t *testing.T) {
	g := NewWithT(t)
	live := live(t, "{apiVersion: v1, kind: X, spec: {old: 1, shared: 1, map: {a: 1, b: 1}, whole: {a: 1, b: 1}, list: [1, 2]}}",
		`{"f:spec":{"f:old":{},"f:shared":{},"f:map":{"f:a":{}},"f:whole":{},"f:list":{}}}`, `{"f:spec":{"f:shared":{},"f:map":{"f:b":{}}}}`)
	merged, err := Merged(live, object(t, "{apiVersion: v1, kind: X, spec: {map: {c: 1}, whole: {c: 1}, list: [3], none: null}}"), fieldpath.NewSet())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(merged.Object["spec"]).To(Equal(object(t, "{apiVersion: v1, kind: X, spec: {shared: 1, map: {b: 1, c: 1}, whole: {c: 1}, list: [3]}}").Object["spec"]))
}

func TestHandedOver(t *testing.T) {
	taken := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "a"))
	for _, test := range []struct {
		name, convoy, hand string
		want               map[string]string
	}{
		{"all of it", `{"f:spec":{"f:b":{}}}`, `{"f:spec":{"f:a":{".":{},"f:x":{}}}}`, map[string]string{"convoy": `{"f:spec":{"f:a":{},"f:b":{}}}`}},
		{"some of it", `{"f:spec":{"f:b":{}}}`, `{"f:spec":{"f:a":{"f:x":{}},"f:c":{}}}`, map[string]string{"convoy": `{"f:spec":{"f:a":{},"f:b":{}}}`, "hand": `{"f:spec":{"f:c":{}}}`}},
		{"to who has nothing yet", "", `{"f:spec":{"f:a":{},"f:c":{}}}`, map[string]string{"convoy": `{"f:spec":{"f:a":{}}}`, "hand": `{"f:spec":{"f:c":{}}}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			live := live(t, "{apiVersion: v1, kind: X}", test.convoy, test.hand)
			entries, err := HandedOver(live, taken)
			g.Expect(err).NotTo(HaveOccurred())
			got := map[string]string{}
			for _, entry := range entries {
				got[entry.Manager] = entry.FieldsV1.GetRawString()
			}
			test.want["scaler"] = `{"f:spec":{"f:replicas":{}}}`
			g.Expect(got).To(Equal(test.want))
			g.Expect(entries[len(entries)-1]).To(And(HaveField("Manager", "convoy"), HaveField("Operation", metav1.ManagedFieldsOperationApply)))
			g.Expect(Managers(live, fieldpath.MakePathOrDie("spec", "a"))).To(Equal([]string{"hand"}))
		})
	}
}

func TestReplacementIsOfWhatPeopleWrite(t *testing.T) {
	g := NewWithT(t)
	from := object(t, `{apiVersion: v1, kind: X, metadata: {name: x, resourceVersion: "1"}, a/b: 1, gone: 1, status: {x: 1}}`)
	to := object(t, `{apiVersion: v1, kind: X, metadata: {name: x, resourceVersion: "2", labels: {l: "1"}, annotations: {}}, a/b: 2, status: {x: 2}}`)
	patch, err := Replacement(from.Object, to.Object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(patch)).To(MatchJSON(`[
		{"op": "add", "path": "/a~1b", "value": 2}, {"op": "remove", "path": "/gone"},
		{"op": "add", "path": "/metadata/annotations", "value": {}}, {"op": "add", "path": "/metadata/labels", "value": {"l": "1"}}
	]`))
}

func TestMade(t *testing.T) {
	then, later := metav1.Unix(1000, 0), metav1.Unix(1001, 0)
	const marks = `{"f:metadata":{"f:annotations":{"f:convoy.kumodo.io/release":{}}}}`
	with := func(fields string, entry metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		entry.FieldsV1 = metav1.NewFieldsV1(fields)
		return entry
	}
	by := func(manager string, operation metav1.ManagedFieldsOperationType, subresource string, at metav1.Time) metav1.ManagedFieldsEntry {
		return with(marks, metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, Time: &at})
	}
	apply, update := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	tests := []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		{"by convoy", []metav1.ManagedFieldsEntry{by("convoy", apply, "", then)}, true},
		{"and changed by others since", []metav1.ManagedFieldsEntry{by("convoy", apply, "", then), by("hand", update, "", later)}, true},
		{"and its status written at once", []metav1.ManagedFieldsEntry{by("convoy", apply, "", then), by("kubelet", update, "status", then)}, true},
		{"by another one, and taken over", []metav1.ManagedFieldsEntry{by("convoy", apply, "", later), by("hand", update, "", then)}, false},
		{"by another one, and taken over at once", []metav1.ManagedFieldsEntry{by("convoy", apply, "", then), by("hand", update, "", then)}, false},
		{"by another one, of whom nothing is left", []metav1.ManagedFieldsEntry{by("convoy", apply, "", later)}, false},
		{"by another one", []metav1.ManagedFieldsEntry{by("hand", apply, "", then)}, false},
		{"for another Release, and handed over", []metav1.ManagedFieldsEntry{
			with(`{"f:data":{"f:k":{}}}`, by("convoy", apply, "", then)), by("convoy", update, "", later),
		}, false},
		{"by kubectl, and handed to convoy", []metav1.ManagedFieldsEntry{with(`{"f:data":{"f:k":{}}}`, by("convoy", apply, "", then))}, false},
		{"by convoy, as can no longer be read", []metav1.ManagedFieldsEntry{with(`{`, by("convoy", apply, "", then))}, false},
		{"before there were managed fields", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			live := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
			live.SetCreationTimestamp(then)
			live.SetManagedFields(tt.entries)
			NewWithT(t).Expect(Made(live)).To(Equal(tt.want))
		})
	}
}
