// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestNoKeyIsLogged(t *testing.T) {
	inWorld(t, func(w *world) {
		keys := map[string]bool{}
		collect := func(r *replica) {
			der, err := x509.MarshalPKCS8PrivateKey(r.Current().Certificate.PrivateKey)
			w.Expect(err).NotTo(HaveOccurred())
			keys[string(pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}))] = true
			for _, key := range []string{keyPrivate, keyNextPrivate} {
				if value := w.data()[key]; len(value) > 0 {
					keys[string(value)] = true
				}
			}
		}
		r, other := w.start(0), w.start(0)
		for range 300 {
			w.pass(day)
			collect(r)
			collect(other)
		}
		data := w.data()
		data[keyPrivate] = append([]byte("x"), data[keyPrivate][:100]...)
		w.put(data)
		r.refused.Store(fmt.Errorf("refused"))
		w.pass(time.Hour)
		w.put(map[string][]byte{keyPrivate: data[keyPrivate]})
		w.pass(time.Hour)
		collect(other)
		text := w.log.String() + fmt.Sprintf("%v %+v %s", r.Current(), other.Current(), r.Current())
		w.Expect(text).To(ContainSubstring("made an authority"))
		w.Expect(len(keys)).To(BeNumerically(">", 20))
		w.Expect(text).NotTo(ContainSubstring("PRIVATE"))
		for _, key := range slices.Collect(maps.Keys(keys)) {
			w.Expect(text).NotTo(ContainSubstring(base64.StdEncoding.EncodeToString([]byte(key))[:40]))
			w.Expect(text).NotTo(ContainSubstring(strings.Split(key, "\n")[1]))
		}
	})
}

func TestParseSecret(t *testing.T) {
	for _, test := range []struct {
		given string
		ok    bool
	}{
		{"convoy-system/convoy-ca", true},
		{"", false},
		{"convoy-ca", false},
		{"/convoy-ca", false},
		{"convoy-system/", false},
		{"a/b/c", false},
		{"Convoy/ca", false},
	} {
		t.Run(test.given, func(t *testing.T) {
			g := NewWithT(t)
			name, err := ParseSecret(test.given)
			g.Expect(err == nil).To(Equal(test.ok), "%v", err)
			if test.ok {
				g.Expect(name).To(Equal(secretName))
			}
		})
	}
}
