// SPDX-License-Identifier: Apache-2.0

package scrub_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/scrub"
)

// TestTextOfAnyLength has a word of which each part is a secret: to mark the word for each of
// them would take hours.
func TestTextOfAnyLength(t *testing.T) {
	g := NewWithT(t)
	s := scrub.New([]string{"secretvalue9"})
	encoded := base64.StdEncoding.EncodeToString([]byte("secretvalue9"))
	g.Expect(s.Text("fail: " + strings.Repeat(encoded, 4<<20))).To(Equal("fail: *** …"))
	g.Expect(len(s.Text(strings.Repeat("abc ", 4<<20)))).To(BeNumerically("<", scrub.Searched))
	g.Expect(len(s.Error(errors.New(strings.Repeat("abc ", 4<<20))).Error())).To(BeNumerically("<", scrub.Searched))
}

// letters makes a text of which no part is twice.
func letters(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, n)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[random.IntN(36)]
	}
	return string(text)
}

// TestNoPartOfASecretIsLeftAtACut puts secrets to all places at which a text may be cut.
func TestNoPartOfASecretIsLeftAtACut(t *testing.T) {
	for _, size := range []int{12, 300, 5000, 40_000} {
		secret := letters(size)
		s := scrub.New([]string{secret})
		// A short form has nothing that is worth hiding; of the others, no eight bytes stay.
		for form, text := range map[string]string{
			"as it is": secret, "quoted": fmt.Sprintf("%q", secret), "base64": base64.StdEncoding.EncodeToString([]byte("x" + secret)),
		} {
			for _, end := range []int{4 << 10, 8 << 10, 12 << 10, 16 << 10} {
				for before := end - min(len(text), end) - 3; before <= end+3; before += 1 + len(text)/3 {
					given := strings.Repeat(" ", max(0, before)) + text + strings.Repeat(" ", scrub.Searched)
					// As a process cuts it that knows no secrets.
					for _, given := range []string{given, given[:scrub.Searched]} {
						left := strings.Trim(s.Text(given), " …*\"")
						NewWithT(t).Expect(left).To(BeEmpty(), "%s, %d bytes at %d", form, size, before)
					}
				}
			}
		}
	}
}

// TestManySecrets looks for more than can be: nothing is shown then.
func TestManySecrets(t *testing.T) {
	g := NewWithT(t)
	var many []string
	for i := range 400_000 {
		many = append(many, fmt.Sprintf("secret-%d", i))
	}
	g.Expect(scrub.New(many[:20_000]).Text("at line 3: secret-19999 and secret-7")).To(Equal("at line 3: *** and ***"))
	g.Expect(scrub.New(many).Text("at line 3: secret-1")).To(And(ContainSubstring("too many"), Not(ContainSubstring("secret-1"))))
}
