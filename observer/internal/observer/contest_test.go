// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// settings is a ConfigMap with many fields.
func settings() string {
	var fields []string
	for i := range 70 {
		fields = append(fields, fmt.Sprintf("k%d: x", i))
	}
	return "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: settings}, data: {" + strings.Join(fields, ", ") + "}}"
}

// put has somebody write to fields of an object of the Release.
func (w *world) put(manifest string, fields ...string) {
	w.t.Helper()
	w.cluster.Put(changed(marked(manifest), func(o *unstructured.Unstructured) {
		for _, field := range fields {
			w.Expect(unstructured.SetNestedField(o.Object, "by another", "data", field)).To(Succeed())
		}
	}))
}

// minute lets a minute pass, in which the Release is looked at, and gives how many syncs came of it.
func (w *world) minute(applied ...string) int {
	w.t.Helper()
	before := w.syncs
	w.look()
	for range w.syncs - before {
		w.handled(applied...)
		w.look()
	}
	w.clock.Step(time.Minute)
	return w.syncs - before
}

// A sync restores what is contested too. Who fights about one field must not get one for each other
// field that it writes to, and who does not fight must not wait for who does.
func TestOtherDriftThanTheContestedOne(t *testing.T) {
	for _, test := range []struct {
		name string
		// also is a field that is written to beside the contested one, and which of its minutes
		// has drift of another object.
		also   func(minute int) string
		others func(minute int) bool
		syncs  int
	}{
		{"none", func(int) string { return "k0" }, func(int) bool { return false }, contestedAfter},
		{"ever other fields of the object", func(minute int) string { return fmt.Sprintf("k%d", minute+1) }, func(int) bool { return false }, 2 * contestedAfter},
		{"another object now and then", func(int) string { return "k0" }, func(minute int) bool { return minute >= 10 && minute%10 == 0 }, 2 * contestedAfter},
		{"another object all the time", func(int) string { return "k0" }, func(int) bool { return true }, contestedAfter},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.applied(settings(), other)
			syncs := 0
			for minute := range int(contestWindow / time.Minute) {
				w.put(settings(), "k0", test.also(minute))
				others := test.others(minute)
				if others {
					w.cluster.Delete(other)
				}
				n := w.minute(settings(), other)
				if others && minute > 0 && syncs < test.syncs {
					w.Expect(n).To(Equal(1), "in minute %d", minute)
				}
				syncs += n
			}
			w.Expect(syncs).To(Equal(test.syncs))
		})
	}
}
