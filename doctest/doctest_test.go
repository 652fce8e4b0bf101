// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
)

func TestPartsOfPages(t *testing.T) {
	g := NewWithT(t)
	const page = "a\n<!-- made: x -->\nold\n<!-- end -->\nb\n<!-- made: y -->\n<!-- end -->\n"
	made, err := withPart(page, "x", "new\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made).To(Equal("a\n<!-- made: x -->\n\nnew\n\n<!-- end -->\nb\n<!-- made: y -->\n<!-- end -->\n"))
	g.Expect(withPart(made, "x", "new\n")).To(Equal(made), "it stays as it is")
	_, err = withPart(page, "z", "")
	g.Expect(err).To(MatchError(ContainSubstring("<!-- made: z -->")))
}

type outer struct {
	Inner  inner             `json:"inner"`
	Items  []inner           `json:"items,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Again  *outer            `json:"again,omitempty"`
	Hidden string            `json:"hidden,omitempty"`
}

type inner struct {
	key   `json:",inline"`
	Count *int32 `json:"count,omitempty"`
}

type key struct {
	Name string `json:"name"`
}

func TestFieldTable(t *testing.T) {
	g := NewWithT(t)
	three := int32(3)
	table := FieldTable(Kind{
		Type: reflect.TypeFor[outer](),
		Describe: func(owner reflect.Type, name string) (Field, bool) {
			return Field{Text: "The " + name + "\nof <it>.", Required: name == "name"}, name != "hidden"
		},
		Default: func(object any) {
			for i := range object.(*outer).Items {
				object.(*outer).Items[i].Count = &three
			}
			object.(*outer).Inner.Name = "x"
		},
	}, "inner", "items", "labels", "again", "hidden")
	g.Expect(table).To(Equal("| field | type | default | meaning |\n|---|---|---|---|\n" +
		"| `inner` | inner |  | The inner of &lt;it>. |\n" +
		"| `inner.name` | string | `x` | The name of &lt;it>. |\n" +
		"| `inner.count` | integer |  | The count of &lt;it>. |\n" +
		"| `items` | list of inner |  | The items of &lt;it>. |\n" +
		"| `items[].name` | string | required | The name of &lt;it>. |\n" +
		"| `items[].count` | integer | `3` | The count of &lt;it>. |\n" +
		"| `labels` | map of string |  | The labels of &lt;it>. |\n" +
		"| `again` | outer |  | The again of &lt;it>. |\n"))
}
