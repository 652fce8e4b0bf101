// SPDX-License-Identifier: Apache-2.0

package options

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"

	"kumodo.io/convoy/apiserver/internal/proxy"
	"kumodo.io/convoy/apiserver/internal/scheme"
	"kumodo.io/convoy/doctest"
)

// parse gives the options of a command line, with a registry of their own.
func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	g := NewWithT(t)
	registry := basecompatibility.NewComponentGlobalsRegistry()
	g.Expect(registry.Register(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(), utilfeature.DefaultMutableFeatureGate.DeepCopy())).To(Succeed())
	o, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	all := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, section := range o.Flags().FlagSets {
		all.AddFlagSet(section)
	}
	g.Expect(all.Parse(args)).To(Succeed())
	return o
}

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	o := parse(t)
	g.Expect(o.Sharding.Shards).To(Equal(1))
	g.Expect(o.Observer.URL).To(Equal("http://convoy-observer.convoy-system.svc:8080"))
	g.Expect(o.Recommended.Etcd.StorageConfig.Prefix).To(Equal("/registry/convoy.kumodo.io"))
	g.Expect(o.Recommended.Etcd.StorageConfig.EncodeVersioner).To(Equal(scheme.GroupVersions()), "discovery tells the stored version by it")
	g.Expect(o.Recommended.Admission.DefaultOffPlugins.Has("MutatingAdmissionPolicy")).To(BeTrue())
	g.Expect(o.Recommended.Admission.DisablePlugins).To(BeEmpty(), "or it could not be turned on")
	g.Expect(o.Server.ShutdownWatchTerminationGracePeriod).To(Equal(10 * time.Second))
	g.Expect(o.Server.RequestTimeout).To(Equal(time.Minute))
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want []string // in the error; none when empty
	}{
		{name: "defaults"},
		{name: "shards", args: []string{"--shards=16"}},
		{name: "no shards", args: []string{"--shards=0"}, want: []string{"--shards"}},
		{name: "too many shards", args: []string{"--shards=100000"}, want: []string{"--shards"}},
		{name: "no observer", args: []string{"--observer-url="}},
		{name: "observer over TLS", args: []string{"--observer-url=https://observer:8443/base", "--observer-ca-file=ca", "--observer-client-cert-file=c", "--observer-client-key-file=k"}},
		{name: "observer with a password", args: []string{"--observer-url=http://user:hunter2@observer"}, want: []string{"--observer-url"}},
		{name: "observer with a query", args: []string{"--observer-url=http://observer?a=b"}, want: []string{"--observer-url"}},
		{name: "observer on a file", args: []string{"--observer-url=file:///etc"}, want: []string{"--observer-url"}},
		{
			name: "half a certificate without TLS and no shards", args: []string{"--observer-client-cert-file=c", "--shards=-1"},
			want: []string{"--observer-client-key-file", "https", "--shards"},
		},
		{name: "its own certificates", args: []string{"--certificate-secret=convoy-system/convoy-ca", "--v=7"}},
		{name: "its own certificates, but files towards the observer", args: []string{
			"--certificate-secret=convoy-system/convoy-ca", "--observer-url=https://observer:8443", "--observer-ca-file=ca",
		}},
		{name: "a Secret without a namespace", args: []string{"--certificate-secret=convoy-ca"}, want: []string{"--certificate-secret", "convoy-system/convoy-ca"}},
		{
			name: "its own certificates and files", args: []string{"--certificate-secret=convoy-system/convoy-ca", "--tls-cert-file=c", "--tls-private-key-file=k"},
			want: []string{"--certificate-secret and --tls-cert-file", "--certificate-secret and --tls-private-key-file"},
		},
		{name: "logs that would hold the authority's key", args: []string{"--certificate-secret=convoy-system/convoy-ca", "--v=8"}, want: []string{"--v"}},
		{name: "so for a file", args: []string{"--certificate-secret=convoy-system/convoy-ca", "--vmodule=request=9"}, want: []string{"--vmodule"}},
		{name: "logs that hold no key", args: []string{"--v=8"}},
		{name: "the library's own", args: []string{"--request-timeout=-1s"}, want: []string{"--request-timeout"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			err := parse(t, append([]string{"--etcd-servers=http://127.0.0.1:2379"}, test.args...)...).Validate()
			if len(test.want) == 0 {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			for _, text := range test.want {
				g.Expect(err).To(MatchError(ContainSubstring(text)))
			}
			g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
		})
	}
}

func TestObserverTimeoutStaysBelowTheRequests(t *testing.T) {
	g := NewWithT(t)
	for request, want := range map[time.Duration]time.Duration{
		time.Minute:      50 * time.Second,
		time.Hour:        50 * time.Second,
		12 * time.Second: 10 * time.Second,
	} {
		o := Observer{}
		o.complete(request)
		g.Expect(o.timeout).To(Equal(want))
	}
}

func TestPagesTellOfEveryFlag(t *testing.T) {
	sections := parse(t).Flags()
	all := pflag.NewFlagSet("all", pflag.ContinueOnError)
	var reference []doctest.Section
	for _, name := range sections.Order {
		all.AddFlagSet(sections.FlagSets[name])
		reference = append(reference, doctest.Section{Title: name, Flags: sections.FlagSets[name]})
	}
	// Those of the command itself.
	all.Bool("help", false, "")
	all.Bool("version", false, "")
	doctest.Flags(t, "docs/binaries/convoy-apiserver.md", sections.FlagSet("convoy"), all)
	doctest.Reference(t, "docs/binaries/convoy-apiserver-flags.md", `# All flags of convoy-apiserver

Those of the group convoy are its own; the others are those of the Kubernetes API server library. What matters of them is in
[convoy-apiserver.md](convoy-apiserver.md).
`, reference)
}

func TestNothingIsWrittenForOwnCertificates(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "certificates")
	o := parse(t, "--etcd-servers=http://127.0.0.1:2379", "--certificate-secret=convoy-system/convoy-ca", "--cert-dir="+dir)
	g.Expect(o.Complete()).To(Succeed())
	g.Expect(dir).NotTo(BeADirectory())
	serving, err := o.Certificate.serve(o.Recommended.SecureServing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Validate()).To(Succeed())
	g.Expect(o.Recommended.SecureServing.ServerCert.GeneratedCert).To(BeIdenticalTo(serving))
}

func TestFilesTowardsTheObserverComeFirst(t *testing.T) {
	called := false
	own := func() (*tls.Config, error) { called = true; return nil, errors.New("not reached") }
	for _, test := range []struct {
		name string
		args []string
		want bool
	}{
		{"no files", nil, true},
		{"a CA", []string{"--observer-ca-file=/nowhere"}, false},
		{"a client certificate", []string{"--observer-client-cert-file=/nowhere", "--observer-client-key-file=/nowhere"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			called = false
			o := parse(t, append(test.args, "--observer-url=https://127.0.0.1:1")...)
			p, err := o.Observer.proxy(own)
			g.Expect(err).NotTo(HaveOccurred())
			handler, err := p.Handler(proxy.Request{Subresource: "health", Namespace: "a", Name: "b"}, discard{})
			g.Expect(err).NotTo(HaveOccurred())
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
			g.Expect(called).To(Equal(test.want))
		})
	}
}

// discard is a responder of answers that nobody reads.
type discard struct{}

func (discard) Object(int, runtime.Object) {}
func (discard) Error(error)                {}
