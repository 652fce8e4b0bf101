// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

var digest = "sha256:" + strings.Repeat("ab", 32)

// accepted are values that go beyond the defaults, and what they show in: the JSON of an object
// has each text in it.
var accepted = []struct {
	name      string
	namespace string
	values    string
	kind, in  string
	want      []string
}{
	{name: "another namespace", namespace: "delivery", kind: "Deployment", in: "convoy-observer", want: []string{`"--namespace=delivery"`, `"--certificate-secret=delivery/convoy-ca"`}},
	{name: "a registry and a tag", values: "{image: {registry: registry.example.com:5000/convoy/, tag: '1.0'}}", kind: "Deployment", in: "convoy-apiserver", want: []string{`"image":"registry.example.com:5000/convoy/convoy-apiserver:1.0"`}},
	{name: "a digest", values: "{image: {registry: r.example.com}, observer: {image: {digest: '" + digest + "'}}}", kind: "Deployment", in: "convoy-observer", want: []string{`"image":"r.example.com/convoy-observer@` + digest + `"`}},
	{name: "pull secrets", values: "{image: {pullPolicy: Always, pullSecrets: [{name: registry}]}, etcd: {trial: {enabled: true}}}", kind: "StatefulSet", in: "convoy-etcd", want: []string{`"imagePullSecrets":[{"name":"registry"}]`, `"imagePullPolicy":"Always"`}},
	{name: "pull secrets of the Job", values: "{image: {pullPolicy: Always, pullSecrets: [{name: registry}]}}", kind: "Job", in: "convoy-health-rules", want: []string{`"imagePullSecrets":[{"name":"registry"}]`, `"imagePullPolicy":"Always"`}},
	{name: "labels of nodes that read like other types", values: `{pod: {nodeSelector: {pool: "true", rank: "007", "on": "1e3"}}}`, kind: "Deployment", in: "convoy-controller-manager", want: []string{`"nodeSelector":{"on":"1e3","pool":"true","rank":"007"}`}},
	{name: "tolerations and affinity", values: `{pod: {tolerations: [{key: a/b, operator: Exists}, {operator: Exists, tolerationSeconds: 30}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: ["1"]}]}]}}}}}`,
		kind: "Deployment", in: "convoy-apiserver", want: []string{`"tolerations":[{"key":"a/b","operator":"Exists"},{"operator":"Exists","tolerationSeconds":30}]`, `"values":["1"]`}},
	{name: "pods of one Deployment", values: `{pod: {nodeSelector: {pool: all}}, observer: {pod: {nodeSelector: {pool: own}, tolerations: []}}}`, kind: "Deployment", in: "convoy-observer", want: []string{`"nodeSelector":{"pool":"own"}`}},
	{name: "labels and annotations of pods", values: `{pod: {labels: {app.kubernetes.io/name: other, team: "1"}, annotations: {a/b: "{{ not a template }}: #x"}}}`, kind: "Deployment", in: "convoy-observer",
		want: []string{`"labels":{"app.kubernetes.io/name":"convoy-observer","app.kubernetes.io/part-of":"convoy","team":"1"}`, `"annotations":{"a/b":"{{ not a template }}: #x"}`}},
	{name: "arguments that YAML would read otherwise", values: `{controllerManager: {extraArgs: ["--v=2", "--x=a: b", "--y=\"q\" 'r' # s", "- z", "--w=é\nnext", "--t={}"]}}`, kind: "Deployment", in: "convoy-controller-manager",
		want: []string{`"--v=2","--x=a: b","--y=\"q\" 'r' # s","- z","--w=é\nnext","--t={}"]`}},
	{name: "pods of the etcd for trials", values: `{pod: {runAsUser: 1000680000, nodeSelector: {pool: "1"}, tolerations: [{operator: Exists}], affinity: {nodeAffinity: {}}, labels: {app.kubernetes.io/name: other, team: "1"}, annotations: {a/b: "1"}}, etcd: {trial: {enabled: true}}}`, kind: "StatefulSet", in: "convoy-etcd",
		want: []string{`"nodeSelector":{"pool":"1"}`, `"tolerations":[{"operator":"Exists"}]`, `"affinity":{"nodeAffinity":{}}`, `"securityContext":{"fsGroup":1000680000,"runAsNonRoot":true,"runAsUser":1000680000,"seccompProfile":{"type":"RuntimeDefault"}}`,
			`"annotations":{"a/b":"1"}`, `"labels":{"app.kubernetes.io/name":"convoy-etcd","app.kubernetes.io/part-of":"convoy","team":"1"}`}},
	{name: "a user of the etcd for trials that the cluster chooses", values: `{pod: {runAsUser: null}, etcd: {trial: {enabled: true}}}`, kind: "StatefulSet", in: "convoy-etcd", want: []string{`"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}`}},
	{name: "labels and annotations of the Job", values: `{pod: {labels: {team: "1", app.kubernetes.io/part-of: other}, annotations: {a/b: "1"}}}`, kind: "Job", in: "convoy-health-rules", want: []string{`"annotations":{"a/b":"1"}`, `"labels":{"app.kubernetes.io/component":"health-rules","app.kubernetes.io/part-of":"convoy","team":"1"}`}},
	{name: "a priority class that reads like another type", values: `{observer: {priorityClassName: "true"}}`, kind: "Deployment", in: "convoy-observer", want: []string{`"priorityClassName":"true"`}},
	{name: "a user that the cluster chooses", values: `{pod: {runAsUser: null}}`, kind: "Deployment", in: "convoy-apiserver", want: []string{`"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}`}},
	{name: "an identity in a cloud", values: `{observer: {serviceAccountAnnotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/x"}}}`, kind: "ServiceAccount", in: "convoy-observer", want: []string{`"eks.amazonaws.com/role-arn":"arn:aws:iam::1:role/x"`}},
	{name: "volumes beside Secrets", values: `{certificates: {issuer: secrets, caBundle: Q0E=}, observer: {extraVolumes: [{name: keys, secret: {secretName: keys}}], extraVolumeMounts: [{name: keys, mountPath: /keys}], extraEnv: [{name: REGION, value: "1"}]}}`,
		kind: "Deployment", in: "convoy-observer", want: []string{`{"name":"keys","secret":{"secretName":"keys"}}`, `{"mountPath":"/keys","name":"keys"}`, `"secretName":"convoy-observer-tls"`, `"env":[{"name":"REGION","value":"1"}]`}},
	{name: "a caBundle", values: `{certificates: {issuer: secrets, caBundle: Q0E=}}`, kind: "APIService", in: "v1alpha1.core.convoy.kumodo.io", want: []string{`"caBundle":"Q0E="`}},
	{name: "a render store and a name", values: `{renderStoreURL: "s3://a?region=b&c=d", installation: "123"}`, kind: "Deployment", in: "convoy-observer", want: []string{`"--installation=123","--render-store-url=s3://a?region=b\u0026c=d"`}},
	{name: "shards", values: `{shards: 1000000}`, kind: "Deployment", in: "convoy-apiserver", want: []string{`"--shards=1000000"`}},
	{name: "an etcd of several members", values: `{etcd: {servers: ["https://a:2379", "https://b:2379"], secretName: ""}}`, kind: "Deployment", in: "convoy-apiserver", want: []string{`"--etcd-servers=https://a:2379,https://b:2379","--certificate-secret`}},
	{name: "a volume for trials", values: `{etcd: {trial: {enabled: true, size: 1Gi, storageClassName: "1", image: "e:1"}}}`, kind: "StatefulSet", in: "convoy-etcd", want: []string{`"storage":"1Gi"`, `"storageClassName":"1"`, `"image":"e:1"`}},
	{name: "no replicas", values: `{observer: {replicas: 0}}`, kind: "Deployment", in: "convoy-observer", want: []string{`"replicas":0`}},
	{name: "resources as a whole", values: `{observer: {resources: {limits: {memory: 4Gi}, claims: [{name: x}]}}}`, kind: "Deployment", in: "convoy-observer", want: []string{`"limits":{"memory":"4Gi"}`}},
	{name: "some rules", values: `{healthRules: {exclude: [argo-cd]}}`, kind: "ConfigMap", in: "convoy-health-rules-0", want: []string{`"argo-events.yaml":`}},
	{name: "labels of monitoring", values: `{monitoring: {scrape: true, alerts: true, dashboard: true, labels: {release: "1"}, prometheus: {serviceAccount: prom, namespace: metrics}}}`, kind: "ClusterRoleBinding", in: "convoy-metrics-reader",
		want: []string{`"subjects":[{"kind":"ServiceAccount","name":"prom","namespace":"metrics"}]`, `"release":"1"`}},
}

func TestValues(t *testing.T) {
	for _, one := range accepted {
		t.Run(one.name, func(t *testing.T) {
			namespace := one.namespace
			if namespace == "" {
				namespace = defaultNamespace
			}
			objects := rendered(t, namespace, one.values)
			checkKinds(t, objects)
			checkNamespace(t, objects, namespace)
			text := jsonOf(t, find(t, objects, one.kind, one.in))
			for _, want := range one.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s %s lacks %s:\n%s", one.kind, one.in, want, text)
				}
			}
		})
	}
}

func TestWhatValuesLeaveOut(t *testing.T) {
	for _, one := range []struct{ values, kind, name string }{
		{"{rbac: {watchReferences: false}}", "ClusterRoleBinding", "convoy-controller-manager-references"},
		{"{rbac: {people: false}}", "ClusterRole", "convoy-edit"},
		{"{certificates: {issuer: secrets}}", "Secret", "convoy-ca"},
		{"{certificates: {issuer: cert-manager}}", "ClusterRoleBinding", "convoy-certificates"},
	} {
		find(t, rendered(t, defaultNamespace, ""), one.kind, one.name)
		for id := range rendered(t, defaultNamespace, one.values) {
			if strings.HasSuffix(id, " "+one.name) && strings.Contains(id, " "+one.kind+" ") {
				t.Errorf("with %s there is still %s", one.values, id)
			}
		}
	}
	for id, one := range rendered(t, defaultNamespace, "{healthRules: {exclude: [argo-cd]}}") {
		if one.field("data", "argo-cd.yaml") != nil {
			t.Errorf("%s has rules that were excluded", id)
		}
	}
}

// What the chart does not know, or cannot use, is refused, and the message names it.
func TestValuesThatAreRefused(t *testing.T) {
	for _, one := range []struct{ name, namespace, values, want string }{
		{"a key that is unknown", "", "{replicas: 3}", "replicas"},
		{"a key below that is unknown", "", "{apiserver: {replica: 3}}", "replica"},
		{"the same in what shares a schema", "", "{observer: {image: {name: x}}}", "name"},
		{"the same in pods of one Deployment", "", "{observer: {pod: {nodeSelectors: {}}}}", "nodeSelectors"},
		{"another type", "", `{observer: {replicas: "2"}}`, "/observer/replicas"},
		{"a label of a node that is no text", "", `{pod: {nodeSelector: {pool: true}}}`, "/pod/nodeSelector/pool"},
		{"an argument that is no text", "", `{observer: {extraArgs: [1]}}`, "/observer/extraArgs/0"},
		{"no shards", "", "{shards: 0}", "/shards"},
		{"an issuer that is unknown", "", "{certificates: {issuer: vault}}", "/certificates/issuer"},
		{"a digest that is none", "", "{observer: {image: {digest: sha256:ab}}}", "/observer/image/digest"},
		{"a URL of etcd without a scheme", "", "{etcd: {servers: [etcd:2379]}}", "/etcd/servers/0"},
		{"two kinds of etcd", "", "{etcd: {servers: ['https://etcd:2379'], trial: {enabled: true}}}", "etcd.servers and etcd.trial.enabled"},
		{"a caBundle in clear", "", `{certificates: {caBundle: "-----BEGIN CERTIFICATE-----"}}`, "/certificates/caBundle"},
		{"root", "", "{pod: {runAsUser: 0}}", "/pod/runAsUser"},
		{"a namespace that reads like a number", "123", "", "123"},
		{"rules that there are not", "", "{healthRules: {exclude: [argocd]}}", "argocd"},
	} {
		t.Run(one.name, func(t *testing.T) {
			given := map[string]any{}
			if err := yaml.Unmarshal([]byte(one.values), &given); err != nil {
				t.Fatal(err)
			}
			namespace := one.namespace
			if namespace == "" {
				namespace = defaultNamespace
			}
			_, err := renderTree(namespace, given)
			if err == nil || !strings.Contains(err.Error(), one.want) {
				t.Errorf("got %v, want an error that names %s", err, one.want)
			}
		})
	}
}

// What is said after an installation is about what was installed.
func TestNotes(t *testing.T) {
	for values, want := range map[string]string{
		"":                                  "waits for the Secret convoy-etcd",
		"{etcd: {trial: {enabled: true}}}":  "Its etcd is for trials",
		"{certificates: {issuer: secrets}}": "convoy-observer-client, and the caBundle of the three APIServices.",
		"{certificates: {issuer: secrets, caBundle: Q0E=}}":       "convoy-apiserver-tls, convoy-observer-tls and convoy-observer-client.",
		"{etcd: {servers: ['http://etcd:2379'], secretName: ''}}": "delete releases --all --all-namespaces",
	} {
		given := map[string]any{}
		if err := yaml.Unmarshal([]byte(values), &given); err != nil {
			t.Fatal(err)
		}
		made, err := renderTree(defaultNamespace, given)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(made.notes, want) {
			t.Errorf("with %q the notes lack %q:\n%s", values, want, made.notes)
		}
	}
}

// checkKinds decodes what Kubernetes itself has a type for as its API server does, so that a
// field in the wrong place is found.
func checkKinds(t *testing.T, objects map[string]object) {
	t.Helper()
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Strict: true})
	for id, one := range objects {
		_, _, err := decoder.Decode([]byte(jsonOf(t, one)), nil, nil)
		if err != nil && !runtime.IsNotRegisteredError(err) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// checkNamespace finds objects and names that stayed behind in the default namespace.
func checkNamespace(t *testing.T, objects map[string]object, namespace string) {
	t.Helper()
	for id, one := range objects {
		if namespace != defaultNamespace && strings.Contains(jsonOf(t, one), defaultNamespace) {
			t.Errorf("%s names %s", id, defaultNamespace)
		}
		got := one.text("metadata", "namespace")
		if got != "" && got != namespace && one.text("metadata", "name") != "convoy-apiserver-authentication-reader" {
			t.Errorf("%s is in namespace %s", id, got)
		}
	}
}

func jsonOf(t *testing.T, one object) string {
	t.Helper()
	text, err := yaml.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	made, err := generated(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join(chartFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what values.yaml makes: go run . generate", name)
		}
	}
}
