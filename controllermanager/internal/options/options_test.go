// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestOptions(t *testing.T) {
	tests := []struct {
		name  string
		given []string
		want  string
	}{
		{"defaults", nil, ""},
		{"a store with encryption", []string{"--render-store-url=file:///r", "--render-store-recipient=age1x", "--render-store-identity-file=/i"}, ""},
		{"no cache", []string{"--artifact-cache-bytes=0"}, "--artifact-cache-bytes"},
		{"nobody fetches", []string{"--fetch-concurrency=0"}, "--fetch-concurrency"},
		{"nobody applies", []string{"--apply-concurrency=0"}, "--apply-concurrency"},
		{"a limit below 0", []string{"--cluster-concurrency=-1"}, "--cluster-concurrency"},
		{"a recipient without a store", []string{"--render-store-recipient=age1x", "--render-store-identity-file=/i"}, "--render-store-url"},
		{"a recipient without an identity", []string{"--render-store-url=file:///r", "--render-store-recipient=age1x"}, "--render-store-identity-file"},
		{"renders stay for ever", []string{"--render-store-url=s3://b", "--render-store-retention=0"}, ""},
		{"renders go too soon", []string{"--render-store-retention=1h"}, "--render-store-retention: 1h0m0s is less than 24h0m0s"},
		{"artifacts of nothing", []string{"--artifact-max-bytes=0"}, "--artifact-max-bytes: 0 is not between"},
		{"renders without time", []string{"--render-timeout=0"}, "--render-timeout: 0s is not above 0"},
		{"caches of shards", []string{"--shards=4", "--shard-scoped-cache"}, ""},
		{"a flag of the process", []string{"--shards=0"}, "--shards"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			o := New()
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.AddFlags(fs)
			g.Expect(fs.Parse(tt.given)).To(Succeed())
			if tt.want == "" {
				g.Expect(o.Validate()).To(Succeed())
				return
			}
			g.Expect(o.Validate()).To(MatchError(ContainSubstring(tt.want)))
		})
	}
}

func TestArchivesInChartsAreHeldToTheSameRatio(t *testing.T) {
	g := NewWithT(t)
	o := New()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.AddFlags(fs)
	g.Expect(fs.Parse([]string{"--artifact-max-ratio=7", "--render-max-bytes=8"})).To(Succeed())
	g.Expect(o.RenderLimits()).To(And(HaveField("Ratio", 7), HaveField("OutputBytes", int64(8))))
}
