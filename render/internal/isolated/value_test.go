// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"bytes"
	"encoding/gob"
	"math"
	"testing"

	. "github.com/onsi/gomega"
)

func TestValuesArriveAsTheyWere(t *testing.T) {
	g := NewWithT(t)
	sent := map[string]any{
		"nil": nil, "false": false, "true": true, "text": "ä\xff\x00", "": "",
		"integers": []any{int64(0), int64(math.MinInt64), int64(math.MaxInt64), uint64(math.MaxUint64)},
		"floats":   []any{float64(1), math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1)},
		"empty":    []any{[]any{}, map[string]any{}, "", []any(nil), map[string]any(nil)},
		"nested":   map[string]any{"a": []any{map[string]any{"a": nil}}},
	}
	var wire bytes.Buffer
	g.Expect(gob.NewEncoder(&wire).Encode(document{Object: value{sent}})).To(Succeed())
	var got document
	g.Expect(gob.NewDecoder(&wire).Decode(&got)).To(Succeed())
	g.Expect(got.Object.any).To(Equal(sent))
}

func TestMalformedValues(t *testing.T) {
	g := NewWithT(t)
	whole, err := value{map[string]any{"a": []any{"text", int64(-300), uint64(300), 1.5, nil, true}}}.GobEncode()
	g.Expect(err).NotTo(HaveOccurred())
	for cut := range whole {
		g.Expect(new(value).GobDecode(whole[:cut])).To(MatchError(errMalformed), "cut off after %d", cut)
	}
	g.Expect(new(value).GobDecode(append(whole, 0))).To(MatchError(errMalformed))
	g.Expect(new(value).GobDecode([]byte{kindList, 0xff, 0xff, 0xff, 0xff, 0x7f})).To(MatchError(errMalformed), "more than there is")
	g.Expect(new(value).GobDecode(bytes.Repeat([]byte{kindList, 1}, 2*maxNested))).To(MatchError(errMalformed), "nested too deep")
	deep := any(nil)
	for range 2 * maxNested {
		deep = []any{deep}
	}
	_, err = value{deep}.GobEncode()
	g.Expect(err).To(MatchError(ContainSubstring("nested too deep")))
	_, err = value{[]int{1}}.GobEncode()
	g.Expect(err).To(MatchError(ContainSubstring("[]int")))
}
