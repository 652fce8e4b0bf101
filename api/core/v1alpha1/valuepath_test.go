// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"testing"
)

func TestValuePaths(t *testing.T) {
	for _, tc := range []struct {
		path string
		keys []string
	}{
		{"image.tag", []string{"image", "tag"}},
		{`annotations.example\.com/a`, []string{"annotations", "example.com/a"}},
		{`a\\.b`, []string{`a\`, "b"}},
		{`a\\\.b`, []string{`a\.b`}},
		{"a..b", []string{"a", "", "b"}},
		{"", []string{""}},
	} {
		if keys := SplitValuePath(tc.path); !slices.Equal(keys, tc.keys) {
			t.Errorf("%q is split into %q, not %q", tc.path, keys, tc.keys)
		}
		if path := JoinValuePath(tc.keys); path != tc.path {
			t.Errorf("%q are joined to %q, not %q", tc.keys, path, tc.path)
		}
	}
	if keys := SplitValuePath(`a.b\`); !slices.Equal(keys, []string{"a", `b\`}) {
		t.Errorf("a backslash at the end gives %q", keys)
	}
}
