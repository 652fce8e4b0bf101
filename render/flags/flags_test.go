// SPDX-License-Identifier: Apache-2.0

package flags_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/flags"
)

func TestLimits(t *testing.T) {
	changed := render.DefaultLimits()
	changed.Time, changed.OutputBytes, changed.MemoryBytes = time.Second, 2, 1<<28
	for _, tc := range []struct {
		name    string
		given   []string
		want    render.Limits
		wantErr string
	}{
		{name: "defaults", want: render.DefaultLimits()},
		{name: "all", given: []string{"--render-timeout=1s", "--render-max-bytes=2", "--render-max-memory=268435456"}, want: changed},
		{name: "no time", given: []string{"--render-timeout=0"}, wantErr: "--render-timeout: 0s is not above 0"},
		{name: "no manifests", given: []string{"--render-max-bytes=0"}, wantErr: "--render-max-bytes: 0 is not between 1 and 1099511627776"},
		{name: "more than can be counted", given: []string{"--render-max-bytes=9223372036854775807"}, wantErr: "--render-max-bytes: 9223372036854775807 is not"},
		{name: "less than a worker begins with", given: []string{"--render-max-memory=1"}, wantErr: "--render-max-memory: 1 is not between 134217728 and 1099511627776"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			limits := render.DefaultLimits()
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

func TestWorkers(t *testing.T) {
	g := NewWithT(t)
	on := true
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.AddWorkers(fs, &on)
	g.Expect(fs.Parse(nil)).To(Succeed())
	g.Expect(on).To(BeTrue())
	g.Expect(fs.Parse([]string{"--render-workers=false"})).To(Succeed())
	g.Expect(on).To(BeFalse())
}
