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
		{"DB_PASS=hunter2 SMTP-AUTH=hunter2 dbPass: hunter2 storageKey=hunter2", "DB_PASS=(masked) SMTP-AUTH=(masked) dbPass: (masked) storageKey=(masked)"},
		{"key=shop/web publicKey=a keyName=b topologyKey: zone valuesKey: c author=d", "key=shop/web publicKey=a keyName=b topologyKey: zone valuesKey: c author=d"},
		{"mysql --user app --password hunter2 -v", "mysql --user app --password (masked) -v"},
		{`["--db-pass", "hunter 2", "-v"]`, `["--db-pass", (masked), "-v"]`},
		{"args:\n- --password\n- hunter2\n- {{ x }}", "args:\n- --password\n- (masked)\n- {{ x }}"},
		{"{{ if a }}\npassword: |-\n  hunter2\n\n  hunter3\nport: 1", "{{ if a }}\npassword: (masked)\nport: 1"},
		{"- credentials:\n    user: hunter2\n  port: 1\n{{ x }}", "- credentials: (masked)\n  port: 1\n{{ x }}"},
		{`applied {"kind":"Secret","data":{"a":"hunter2"}}`, "(masked)"},
		{"caBundle LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg== stays", "caBundle LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg== stays"},
		{"LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCmh1bnRlcjIK ends", "(masked) ends"},
		{"GET https://x.blob.core.windows.net/c?sv=2024&sig=hunter2%3D&se=1 failed", "GET https://x.blob.core.windows.net/c?sv=2024&sig=(masked)&se=1 failed"},
		{`{"u":"https://x/c?a=1\u0026X-Goog-Credential=hunter2"}`, `{"u":"https://x/c?a=1\u0026X-Goog-Credential=(masked)"}`},
		{"dial app:hun:ter@2@tcp(db:3306)/shop", "dial (masked)@tcp(db:3306)/shop"},
		{"image shop:1.4@sha256:abc at 10:20", "image shop:1.4@sha256:abc at 10:20"},
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
		{"names with segments", "env: [{name: DB_PASS, value: hunter2}, {name: AZURE_STORAGE_KEY, value: hunter2}, {name: REDIS_AUTH, value: hunter2}, {name: SSH_KEY_1, value: hunter2}, {name: AUTHOR, value: b}, {name: PUBLIC_KEY, value: b}]",
			"env: [{name: DB_PASS, value: (masked)}, {name: AZURE_STORAGE_KEY, value: (masked)}, {name: REDIS_AUTH, value: (masked)}, {name: SSH_KEY_1, value: (masked)}, {name: AUTHOR, value: b}, {name: PUBLIC_KEY, value: b}]"},
		{"names in values", "values: {smtp_pass: hunter2, dbPass: hunter2, dbpass: hunter2, storagekey: hunter2, tls-key: hunter2, license: {key: hunter2}, monkey: a, bypass: b}",
			"values: {smtp_pass: (masked), dbPass: (masked), dbpass: (masked), storagekey: (masked), tls-key: (masked), license: {key: (masked)}, monkey: a, bypass: b}"},
		{"harmless names in values", "values: {publicKey: a, keyName: b, authType: c, existingSecretKeyRef: {name: x, key: d}, valuesKey: e, tolerations: [{key: f, operator: Exists}], topologyKey: g, items: [{key: h, path: i}], known_hosts: j}",
			"values: {publicKey: a, keyName: b, authType: c, existingSecretKeyRef: {name: x, key: d}, valuesKey: e, tolerations: [{key: f, operator: Exists}], topologyKey: g, items: [{key: h, path: i}], known_hosts: j}"},
		{"harmless names of the API", "spec: {selector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, valuesFrom: [{name: x, valuesKey: c}], secretRef: {key: d}, containers: [{env: [{valueFrom: {configMapKeyRef: {name: a, key: e}}}]}], knownHosts: {key: f}}",
			"spec: {selector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, valuesFrom: [{name: x, valuesKey: c}], secretRef: {key: d}, containers: [{env: [{valueFrom: {configMapKeyRef: {name: a, key: e}}}]}], knownHosts: {key: f}}"},
		{"a patch of the data", `{mutations: [{target: {kind: ConfigMap}, patch: "- {op: add, path: /stringData, value: {a: hunter2}}\n- {op: add, path: /data, value: {a: hunter2}}\n- {op: add, path: /metadata/labels, value: {a: b}}\n"}]}`,
			`{mutations: [{target: {kind: ConfigMap}, patch: "- op: add\n  path: /stringData\n  value: (masked)\n- op: add\n  path: /data\n  value: (masked)\n- op: add\n  path: /metadata/labels\n  value:\n    a: b\n"}]}`},
		{"a patch of an environment", `{mutations: [{patch: "- {op: replace, path: /spec/template/spec/containers/0/env/1/value, value: hunter2}\n"}]}`,
			`{mutations: [{patch: "- op: replace\n  path: /spec/template/spec/containers/0/env/1/value\n  value: (masked)\n"}]}`},
		{"patches of Secrets", `{mutations: [{target: {kind: Secret}, patch: "data: {a: hunter2}\n"}, {patch: "data: {a: hunter2}\n"}, {target: {kind: ConfigMap}, patch: "kind: Secret\ndata: {a: hunter2}\n"},
			{target: {kind: ConfigMap}, patch: "stringData: {a: hunter2}\n"}, {target: {kind: ConfigMap}, patch: "data: {a: b}\n"}, {target: {kind: Secret}, patch: "data:\n  a: {{ hunter2 }}: b\n"},
			{target: {kind: Secret}, patch: "- {op: replace, path: '', value: {data: {a: hunter2}}}\n"}]}`,
			`{mutations: [{target: {kind: Secret}, patch: "data: (masked)\n"}, {patch: "data: (masked)\n"}, {target: {kind: ConfigMap}, patch: "data: (masked)\nkind: Secret\n"},
			{target: {kind: ConfigMap}, patch: "stringData: (masked)\n"}, {target: {kind: ConfigMap}, patch: "data:\n  a: b\n"}, {target: {kind: Secret}, patch: (masked)},
			{target: {kind: Secret}, patch: "- op: replace\n  path: \"\"\n  value:\n    data: (masked)\n"}]}`},
		{"a Secret without a version", "values: {extra: {kind: Secret, data: {a: hunter2}}}", "values: {extra: {kind: Secret, data: (masked)}}"},
		{"templates of Secrets", `values: {a: "kind: Secret\n{{ if b }}\nstringData: {a: hunter2}\n{{ end }}\n", b: "x: 1\n---\nkind: Secret\nstringData: {a: hunter2}\n", c: "kind: ConfigMap\n{{ if b }}\n"}`,
			`values: {a: (masked), b: "x: 1\n---\nkind: Secret\nstringData: (masked)\n", c: "kind: ConfigMap\n{{ if b }}\n"}`},
		{"arguments in two items", "args: [--password, hunter2, --db-pass, hunter2, --secret-name, a, --token, --v, '2']", "args: [--password, (masked), --db-pass, (masked), --secret-name, a, --token, --v, '2']"},
		{"arguments in one text", "command: [sh, -c, 'app --password hunter2 --v 2']", "command: [sh, -c, 'app --password (masked) --v 2']"},
		{"what tools keep in annotations", "metadata: {annotations: {objectset.rio.cattle.io/applied: hunter2, kubectl.kubernetes.io/last-applied-configuration: hunter2, kapp.k14s.io/original: hunter2}}",
			"metadata: {annotations: {objectset.rio.cattle.io/applied: (masked), kubectl.kubernetes.io/last-applied-configuration: (masked), kapp.k14s.io/original: (masked)}}"},
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
