// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/manifest"
)

// Whatever a file holds, it gives objects that are written and read again as the same, or
// an error.
func FuzzDecode(f *testing.F) {
	f.Add(false, []byte(stream))
	f.Add(false, []byte("\xef\xbb\xbf--- &a {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: 9007199254740993}}]}\r\n...\r\n"))
	f.Add(false, []byte("a: &a [x]\nb: [*a, *a]\n<<: {c: 0o7}\n? [1]\n: !!binary aGk="))
	f.Add(true, []byte(`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": 1e400}} {"kind": 3}`))
	f.Fuzz(func(t *testing.T, asJSON bool, content []byte) {
		name := "f.yaml"
		if asJSON {
			name = "f.json"
		}
		documents, err := manifest.Decode(name, content)
		if err != nil {
			return
		}
		for _, d := range documents {
			if d.Object.GetName() == "" || d.Object.GetKind() == "" {
				t.Fatalf("an object without identity: %v", d.Object.Object)
			}
			before, err := digest.Of(d.Object.Object)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(d.Object.Object)
			if err != nil {
				t.Fatal(err)
			}
			again, err := manifest.Decode("again.json", text)
			if err != nil || len(again) != 1 {
				t.Fatalf("%s: %v", text, err)
			}
			if after, _ := digest.Of(again[0].Object.Object); after != before {
				t.Fatalf("%s", text)
			}
		}
	})
}

// Splitting loses nothing but markers, marks and carriage returns, and what it gives is not
// split again.
func FuzzSplit(f *testing.F) {
	f.Add([]byte(stream))
	f.Add([]byte("--- a\n...\n---\n---\tb\r\n--- # c\n----\n ---\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var total int
		for _, document := range manifest.Split(content) {
			total += len(document)
			if len(bytes.TrimSpace(document)) == 0 {
				t.Fatalf("an empty document of %q", content)
			}
		}
		if total > len(content) {
			t.Fatalf("%q became more", content)
		}
	})
}
