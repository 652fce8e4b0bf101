// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ given, want string }{
		{"fetching https://user:hunter2@git.example.com/x.git failed", "fetching https://(masked)@git.example.com/x.git failed"},
		{"https://hunter2@git.example.com", "https://(masked)@git.example.com"},
		{"https://user:hun@ter2@git.example.com/a", "https://(masked)@git.example.com/a"},
		{"mail me@example.com about https://example.com/@scope", "mail me@example.com about https://example.com/@scope"},
		{`level=info password="hunter 2" user=x`, `level=info password=(masked) user=x`},
		{`{"api_key":"hunter2","a":1}`, `{"api_key":(masked),"a":1}`},
		{`{"a":{"password":["hunter2","hunter3"]}}`, `{"a":{"password":(masked)}}`},
		{`cut: password="hunter2`, `cut: password=(masked)`},
		{"clone https://user:hun/ter2@git.example.com", "clone https://(masked)@git.example.com"},
		{"db:\n  password: hunter2 and more\n  port: 1", "db:\n  password: (masked)\n  port: 1"},
		{"- token: hunter2", "- token: (masked)"},
		{`{\"token\":\"hunter2\"}`, `{\"token\":(masked)}`},
		{"GET /x?token=hunter2&a=1", "GET /x?token=(masked)"},
		{"Authorization: Bearer hunter2hunter2", "Authorization: (masked)"},
		{"the header was Basic aHVudGVyMg==", "the header was Basic (masked)"},
		{"token eyJhbGciOi.eyJzdWIi.c2ln is refused", "token (masked) is refused"},
		{"-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----\nrest", "(masked)\nrest"},
		{"-----BEGIN PRIVATE KEY-----\nhunter2", "(masked)"},
		{"Secret shop/db does not exist: secretName: db", "Secret shop/db does not exist: secretName: db"},
		{"Release shop/web is not Ready", "Release shop/web is not Ready"},
		{"--etcd-keyfile=/etc/convoy/etcd/tls.key", "--etcd-keyfile=/etc/convoy/etcd/tls.key"},
	} {
		t.Run(test.given, func(t *testing.T) { NewWithT(t).Expect(Text(test.given)).To(Equal(test.want)) })
	}
}

func TestObject(t *testing.T) {
	for _, test := range []struct{ name, given, want string }{
		{"values", "spec: {render: {helm: {values: {db: {password: hunter2, port: 5432}, credentials: {a: hunter2}, hosts: [{token: 12345}]}}}}",
			"spec: {render: {helm: {values: {db: {password: (masked), port: 5432}, credentials: (masked), hosts: [{token: (masked)}]}}}}"},
		{"a document in values", "values: {config: \"db:\\n  password: |\\n    hunter2\\n  port: 1\\n\"}", "values: {config: \"db:\\n  password: (masked)\\n  port: 1\\n\"}"},
		{"a patch", `{mutations: [{patch: "- {op: add, path: /data/a, value: hunter2}\n- {op: add, path: /spec/replicas, value: 3}\n"}]}`,
			`{mutations: [{patch: "- op: add\n  path: /data/a\n  value: (masked)\n- op: add\n  path: /spec/replicas\n  value: 3\n"}]}`},
		{"a Secret that a hook makes", "hooks: [{template: {apiVersion: v1, kind: Secret, data: {a: aHVudGVyMg==}, stringData: {b: hunter2}}}]",
			"hooks: [{template: {apiVersion: v1, kind: Secret, data: (masked), stringData: (masked)}}]"},
		{"references", "spec: {secretRef: {name: db, key: k}, auth: {kubeconfig: {secretRef: {name: a}}}, valuesFrom: [{kind: Secret, name: b}]}",
			"spec: {secretRef: {name: db, key: k}, auth: {kubeconfig: {secretRef: {name: a}}}, valuesFrom: [{kind: Secret, name: b}]}"},
		{"a Pod", "spec: {automountServiceAccountToken: false, volumes: [{secret: {secretName: a}}], containers: [{args: [--password=hunter2, --v=2], env: [{name: DB_TOKEN, value: hunter2}, {name: A, value: b}]}]}",
			"spec: {automountServiceAccountToken: false, volumes: [{secret: {secretName: a}}], containers: [{args: [--password=(masked), --v=2], env: [{name: DB_TOKEN, value: (masked)}, {name: A, value: b}]}]}"},
		{"metadata", `metadata: {managedFields: [{a: b}], name: web, annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2, a/token: hunter2, b: c}}`,
			`metadata: {name: web, annotations: {kubectl.kubernetes.io/last-applied-configuration: (masked), a/token: (masked), b: c}}`},
		{"a field with a secret's name", "spec: {bindPassword: hunter2}", "spec: {bindPassword: (masked)}"},
		{"URLs", "spec: {url: 'https://u:hunter2@x', agentless: {proxyURL: 'http://u:hunter2@proxy:3128'}}", "spec: {url: 'https://(masked)@x', agentless: {proxyURL: 'http://(masked)@proxy:3128'}}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var object map[string]any
			g.Expect(yaml.Unmarshal([]byte(test.given), &object)).To(Succeed())
			Object(object)
			got, err := json.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(MatchYAML(test.want))
		})
	}
}
