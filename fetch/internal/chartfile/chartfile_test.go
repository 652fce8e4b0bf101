// SPDX-License-Identifier: Apache-2.0

package chartfile

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/archive"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
	"kumodo.io/convoy/fetch/internal/tree"
)

func content(t *testing.T, files map[string]string) *tree.Tree {
	t.Helper()
	made, err := archive.Unpack(t.Context(), testsource.TarGz(t, files), archive.Options{Limits: backend.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, given           string
		wantName, wantVersion string
		wantErr               error
		wantText              string
	}{
		{name: "the same", given: "apiVersion: v2\nname: web\nversion: 1.0.0\n", wantName: "web", wantVersion: "1.0.0"},
		{name: "JSON", given: `{"name": "web", "version": "1.0.0"}`, wantName: "web", wantVersion: "1.0.0"},
		{name: "registries know lower case only", given: "name: Web\nversion: 1.0.0\n", wantName: "web", wantVersion: "1.0.0"},
		{name: "an anchor", given: "appVersion: &v 1.0.0\nname: web\nversion: *v\n", wantName: "web", wantVersion: "1.0.0"},
		{name: "keys that are there twice", given: "name: web\nversion: 0.9.0\nversion: 1.0.0\n", wantName: "web", wantVersion: "1.0.0"},
		{name: "anything", given: "name: web\nversion: 1.0.0\n"},
		{name: "of any version", given: "name: api\nversion: 1.0.0\n", wantName: "web", wantErr: fault.ErrContent, wantText: `published as the chart "web", it holds the chart "api" of the version "1.0.0"`},
		{name: "of another version", given: "name: web\nversion: 2.0.0\n", wantName: "web", wantVersion: "1.0.0", wantErr: fault.ErrContent, wantText: `"web" of the version "2.0.0"`},
		{name: "another name", given: "name: api\nversion: 1.0.0\n", wantName: "web", wantVersion: "1.0.0", wantErr: fault.ErrContent, wantText: `"api" of the version "1.0.0"`},
		{name: "no version", given: "name: web\n", wantName: "web", wantVersion: "1.0.0", wantErr: fault.ErrContent, wantText: `it holds the chart "web"`},
		{name: "no name", given: "version: 1.0.0\n", wantName: "web", wantVersion: "1.0.0", wantErr: fault.ErrContent, wantText: `it holds the version "1.0.0"`},
		{name: "a list", given: "- name: web\n", wantErr: fault.ErrContent, wantText: "no mapping"},
		{name: "empty", given: "", wantErr: fault.ErrContent, wantText: "no mapping"},
		{name: "damaged", given: "name: [", wantErr: fault.ErrContent, wantText: "no mapping"},
		{name: "large", given: "#" + strings.Repeat(" ", maxFile), wantErr: fault.ErrLimit, wantText: "1 MiB are accepted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			err := Check(content(t, map[string]string{file: tc.given}), "it", tc.wantName, tc.wantVersion)
			if tc.wantErr == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
		})
	}
	t.Run("none", func(t *testing.T) {
		err := Check(content(t, map[string]string{"a": "a"}), "it", "", "")
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("it holds no Helm chart")))
	})
}
