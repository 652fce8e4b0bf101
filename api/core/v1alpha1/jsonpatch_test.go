// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"testing"
)

func TestJSONPatches(t *testing.T) {
	diff := &ReleaseDiff{Objects: []ObjectDiff{
		{ObjectKey: ObjectKey{Version: "v1", Kind: "ConfigMap", Name: "cm"}, Action: ActionUpdate, Changes: []FieldChange{
			{Path: "/data/a", From: `"1"`, To: `"2"`},
			{Path: "/data/b", From: `"1"`},
			{Path: "/data/c", To: "(masked, changed)"},
			{Path: "/spec/list/1", From: `{"x":1}`},
			{Path: "/spec/list/2", From: `{"x":2}`},
		}},
		{ObjectKey: ObjectKey{Version: "v1", Kind: "ConfigMap", Name: "new"}, Action: ActionCreate, Message: "m"},
	}}
	for _, test := range []struct {
		name string
		diff *ReleaseDiff
		want string
	}{
		{"what goes, goes last, and the last of a list first", diff,
			`[{"version":"v1","kind":"ConfigMap","name":"cm","action":"update","patch":[` +
				`{"op":"replace","path":"/data/a","value":"2"},{"op":"add","path":"/data/c","value":"(masked, changed)"},` +
				`{"op":"remove","path":"/spec/list/2"},{"op":"remove","path":"/spec/list/1"},{"op":"remove","path":"/data/b"}]},` +
				`{"version":"v1","kind":"ConfigMap","name":"new","action":"create","patch":[],"message":"m"}]`},
		{"nothing", &ReleaseDiff{}, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, err := json.Marshal(test.diff.JSONPatches())
			if err != nil || string(data) != test.want {
				t.Errorf("got %s, %v\nwant %s", data, err, test.want)
			}
		})
	}
}
