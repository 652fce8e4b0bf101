// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/observer/internal/testcluster"
)

// What a dry run changes of a live object is drift where convoy owns it, and of what others own
// nothing is. Who owns what is as an API server says.
func TestWithoutOthers(t *testing.T) {
	const (
		subjects   = "{f:subjects: {}}"
		containers = `{f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:name: {}, f:image: {}}}}}`
		mounts     = `{f:mounts: {'k:{"path":"/a"}': {.: {}, f:name: {}, f:path: {}}, 'k:{"path":"/b"}': {.: {}, f:name: {}, f:path: {}, f:readOnly: {}}}}`
		ports      = `{f:ports: {'k:{"port":80,"protocol":"TCP"}': {.: {}, f:port: {}, f:targetPort: {}}}}`
	)
	for _, test := range []struct {
		name, live, result string
		had, has           string // what convoy owns in them
		want               []string
	}{
		// Lists that are owned as a whole.
		{"an item of another name", "{subjects: [{kind: User, name: mallory}]}", "{subjects: [{kind: User, name: alice}]}", "{f:other: {}}", subjects, []string{"/subjects/0/name"}},
		{"another item", "{subjects: [{kind: Group, name: wheel, namespace: x}]}", "{subjects: [{kind: User, name: alice}]}", "{f:other: {}}", subjects,
			[]string{"/subjects/0/kind", "/subjects/0/name", "/subjects/0/namespace"}},
		{"an item more", "{subjects: [{name: alice}, {name: mallory}]}", "{subjects: [{name: alice}]}", "{f:other: {}}", subjects, []string{"/subjects/1"}},
		{"an item less", "{subjects: [{name: alice}]}", "{subjects: [{name: alice}, {name: bob}]}", "{f:other: {}}", subjects, []string{"/subjects/1"}},
		{"the second item of a name", "{subjects: [{kind: User, name: a}, {kind: User, name: a}]}", "{subjects: [{kind: User, name: a}, {kind: Group, name: a}]}", "{f:other: {}}", subjects,
			[]string{"/subjects/1/kind"}},
		{"a default in an item", "{subjects: [{name: alice, weight: 0}]}", "{subjects: [{name: alice, weight: 1}]}", "{f:other: {}}", subjects, []string{"/subjects/0/weight"}},
		{"an item without a name", "{subjects: [{port: 81}]}", "{subjects: [{port: 80}]}", "{f:other: {}}", subjects, []string{"/subjects/0/port"}},
		{"the whole list", "{}", "{subjects: [{name: alice}]}", "{f:other: {}}", subjects, []string{"/subjects"}},
		{"a map", "{subjects: {a: x, b: y}}", "{subjects: {a: x}}", "{f:other: {}}", subjects, []string{"/subjects/b"}},
		// Lists with items of several owners.
		{"a field of an item that is not the first of its name", "{mounts: [{name: v, path: /a}, {name: v, path: /b}]}",
			"{mounts: [{name: v, path: /a}, {name: v, path: /b, readOnly: true}]}", mounts, mounts, []string{"/mounts/1/readOnly"}},
		{"an item that somebody renamed", "{spec: {containers: [{name: mine, image: i}]}}", "{spec: {containers: [{name: mine, image: i}, {name: app, image: i}]}}", "{f:other: {}}", containers,
			[]string{"/spec/containers/1"}},
		{"an item with another place", "{spec: {containers: [{name: sidecar, image: s}, {name: app, image: x}]}}", "{spec: {containers: [{name: sidecar, image: s}, {name: app, image: i}]}}", containers, containers,
			[]string{"/spec/containers/1/image"}},
		{"an item of somebody else", "{spec: {containers: [{name: app, image: i}, {name: sidecar, image: s}]}}", "{spec: {containers: [{name: app, image: i}, {name: sidecar, image: t}]}}", containers, containers, nil},
		{"an item that is found by a default", "{ports: [{port: 443, protocol: TCP, nodePort: 1}, {port: 80, protocol: TCP, targetPort: 1}]}",
			"{ports: [{port: 443, protocol: TCP, nodePort: 2}, {port: 80, protocol: TCP, targetPort: 8080}]}", ports, ports, []string{"/ports/1/targetPort"}},
		{"a field of somebody else in an item", "{spec: {containers: [{name: app, image: i, asked: 1}]}}", "{spec: {containers: [{name: app, image: i, asked: 2, more: 1}]}}", containers, containers, nil},
		{"a value of a set", "{set: [y, x]}", "{set: [z, x]}", "{f:set: {'v:\"x\"': {}}}", "{f:set: {'v:\"x\"': {}}}", nil},
		{"a value of a set that is convoy's", "{set: [z]}", "{set: [z, x]}", "{f:other: {}}", "{f:set: {'v:\"x\"': {}}}", []string{"/set/1"}},
		// Maps.
		{"a field of somebody else", "{data: {a: x, asked: 1}}", "{data: {a: x, asked: 2}}", "{f:data: {f:a: {}}}", "{f:data: {f:a: {}}}", nil},
		{"what a webhook takes out beside", "{data: {a: x, asked: 1}}", "{data: {a: x}}", "{f:data: {f:a: {}}}", "{f:data: {f:a: {}}}", []string{"/data/asked"}},
		{"what a webhook takes out elsewhere", "{data: {a: x}, theirs: {b: 1}}", "{data: {a: x}, theirs: {}}", "{f:data: {f:a: {}}}", "{f:data: {f:a: {}}}", nil},
		{"what was convoy's and is not desired", "{data: {a: x}, old: {b: 1, c: 2}}", "{data: {a: x}, old: {c: 2}}", "{f:data: {f:a: {}}, f:old: {f:b: {}}}", "{f:data: {f:a: {}}}", []string{"/old/b"}},
		{"a server that does not say", "{data: {a: x, b: 1}}", "{data: {a: x, b: 2}}", "{f:data: {f:a: {}}}", "", []string{"/data/b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			parse := func(text, owned string) *unstructured.Unstructured {
				object := testcluster.Object(text[:1] + "apiVersion: v1, kind: X, metadata: {name: x}, " + text[1:])
				if owned != "" {
					own(g, object, owned)
				}
				return object
			}
			live, result := parse(test.live, test.had), parse(test.result, test.has)
			var paths []string
			for _, change := range withoutOthers(live, result, Fields(live.Object, result.Object)) {
				paths = append(paths, change.Path)
			}
			g.Expect(paths).To(Equal(test.want))
		})
	}
}
