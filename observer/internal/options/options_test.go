// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestValidate(t *testing.T) {
	cases := []struct {
		name  string
		given []string
		want  string
	}{
		{"the defaults", nil, ""},
		{"TLS with client certificates", []string{"--tls-cert-file=a", "--tls-private-key-file=b", "--client-ca-file=c", "--allowed-client-names=d"}, ""},
		{"a certificate without its key", []string{"--tls-cert-file=a"}, "--tls-private-key-file"},
		{"client certificates without TLS", []string{"--client-ca-file=c"}, "--client-ca-file needs --tls-cert-file"},
		{"names without a CA", []string{"--allowed-client-names=d"}, "--allowed-client-names needs --client-ca-file"},
		{"reading as who asks", []string{"--certificate-secret=convoy-system/convoy-ca", "--impersonate-user-on-target"}, ""},
		{"reading as who asks, whom nobody knows", []string{"--impersonate-user-on-target"}, "--impersonate-user-on-target needs --client-ca-file"},
		{"its own certificates", []string{"--certificate-secret=convoy-system/convoy-ca", "--allowed-client-names=d"}, ""},
		{"a Secret without a namespace", []string{"--certificate-secret=convoy-ca"}, "convoy-system/convoy-ca"},
		{"its own certificates and a file", []string{"--certificate-secret=a/b", "--tls-cert-file=a", "--tls-private-key-file=b"}, "--certificate-secret and --tls-cert-file exclude"},
		{"its own certificates and a key", []string{"--certificate-secret=a/b", "--tls-private-key-file=b"}, "--certificate-secret and --tls-private-key-file exclude"},
		{"its own certificates and a CA", []string{"--certificate-secret=a/b", "--client-ca-file=c"}, "--certificate-secret and --client-ca-file exclude"},
		{"no cache", []string{"--artifact-cache-bytes=0"}, "--artifact-cache-bytes"},
		{"artifacts of nothing", []string{"--artifact-max-bytes=0"}, "--artifact-max-bytes: 0 is not between"},
		{"renders without time", []string{"--render-timeout=0"}, "--render-timeout: 0s is not above 0"},
		{"no complete checks of drift", []string{"--drift-full-interval=0"}, ""},
		{"complete checks without a pause", []string{"--drift-full-interval=1ms"}, "--drift-full-interval"},
		{"caches of shards", []string{"--shards=4", "--shard-scoped-cache"}, ""},
		{"no shards", []string{"--shards=0"}, "--shards"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			options := New()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			options.AddFlags(flags)
			g.Expect(flags.Parse(c.given)).To(Succeed())
			err := options.Validate()
			if c.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestArchivesInChartsAreHeldToTheSameRatio(t *testing.T) {
	g := NewWithT(t)
	options := New()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.AddFlags(flags)
	g.Expect(flags.Parse([]string{"--artifact-max-ratio=7", "--render-max-bytes=8"})).To(Succeed())
	g.Expect(options.Content.RenderLimits()).To(And(HaveField("Ratio", 7), HaveField("OutputBytes", int64(8))))
}
