// SPDX-License-Identifier: Apache-2.0

package flags_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/flags"
)

func TestLimits(t *testing.T) {
	changed := fetch.DefaultLimits()
	changed.DownloadBytes, changed.ContentBytes, changed.FileBytes, changed.Files, changed.Ratio = 1, 2, 3, 4, 5
	for _, tc := range []struct {
		name    string
		given   []string
		want    fetch.Limits
		wantErr string
	}{
		{name: "defaults", want: fetch.DefaultLimits()},
		{name: "all", given: []string{"--artifact-max-download-bytes=1", "--artifact-max-bytes=2", "--artifact-max-file-bytes=3", "--artifact-max-files=4", "--artifact-max-ratio=5"}, want: changed},
		{name: "no download", given: []string{"--artifact-max-download-bytes=0"}, wantErr: "--artifact-max-download-bytes: 0 is not between 1 and 1099511627776"},
		{name: "no content", given: []string{"--artifact-max-bytes=-1"}, wantErr: "--artifact-max-bytes: -1 is not"},
		{name: "more content than can be counted", given: []string{"--artifact-max-bytes=9223372036854775807"}, wantErr: "--artifact-max-bytes: 9223372036854775807 is not"},
		{name: "empty files", given: []string{"--artifact-max-file-bytes=0"}, wantErr: "--artifact-max-file-bytes: 0 is not"},
		{name: "no files", given: []string{"--artifact-max-files=0"}, wantErr: "--artifact-max-files: 0 is not between 1 and 1073741824"},
		{name: "no ratio", given: []string{"--artifact-max-ratio=0"}, wantErr: "--artifact-max-ratio: 0 is not"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			limits := fetch.DefaultLimits()
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			flags.AddLimits(fs, &limits)
			g.Expect(fs.Parse(tc.given)).To(Succeed())
			err := errors.Join(flags.ValidateLimits(limits)...)
			if tc.wantErr != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.wantErr)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(limits).To(Equal(tc.want))
		})
	}
}
