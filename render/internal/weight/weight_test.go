// SPDX-License-Identifier: Apache-2.0

package weight_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/weight"
)

// TestOf compares with what decoded values do take.
func TestOf(t *testing.T) {
	for name, text := range map[string]string{
		"empty maps":  "[" + strings.Repeat("{},", 200_000) + "1]",
		"empty lists": "[" + strings.Repeat("[],", 200_000) + "1]",
		"numbers":     "[" + strings.Repeat("1234567,", 200_000) + "1]",
		"small maps":  "[" + strings.Repeat(`{"name": "a", "value": "b"},`, 50_000) + "1]",
		"larger maps": "[" + strings.Repeat(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1},`, 20_000) + "1]",
		"a text":      `["` + strings.Repeat("x", 4<<20) + `"]`,
	} {
		t.Run(name, func(t *testing.T) {
			before := inUse()
			var value any
			NewWithT(t).Expect(json.Unmarshal([]byte(text), &value)).To(Succeed())
			took := float64(inUse() - before)
			NewWithT(t).Expect(float64(weight.Of(value))/took).To(BeNumerically("~", 1, 0.7), "%d", weight.Of(value))
			runtime.KeepAlive(value)
			runtime.KeepAlive(text)
		})
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
