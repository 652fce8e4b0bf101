// SPDX-License-Identifier: Apache-2.0

package options

import (
	"context"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

type fakeBundle struct{ content atomic.Pointer[string] }

func (f *fakeBundle) CurrentCABundleContent() []byte {
	if content := f.content.Load(); content != nil {
		return []byte(*content)
	}
	return nil
}

func TestTrustIsAwaited(t *testing.T) {
	published := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: authenticationNamespace, Name: authenticationConfigMap},
		Data:       map[string]string{clientAuthority: "clients\n", headerAuthority: "headers\n"},
	}
	both := []string{clientAuthority, headerAuthority}
	for name, c := range map[string]struct {
		published *corev1.ConfigMap
		keys      []string
		believed  string
		trusts    bool
	}{
		"both are believed":                    {published, both, "headers\nclients", true},
		"only one is":                          {published, both, "headers", false},
		"the other is from a file":             {published, []string{headerAuthority}, "headers", true},
		"none is":                              {published, both, "", false},
		"the host publishes nothing":           {nil, both, "", true},
		"the host publishes no client's":       {with(published, headerAuthority), both, "headers", true},
		"nothing has to be read from the host": {published, nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			client := fake.NewClientset()
			if c.published != nil {
				client = fake.NewClientset(c.published)
			}
			believed := &fakeBundle{}
			believed.content.Store(&c.believed)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- trusts(ctx, client.CoreV1().ConfigMaps(authenticationNamespace), c.keys, believed) }()
			if !c.trusts {
				g.Eventually(client.Actions).Should(HaveLen(3), "it looks again and again")
				g.Expect(ended).NotTo(Receive())
				all := "clients\nheaders"
				believed.content.Store(&all)
			}
			g.Eventually(ended).Should(Receive(BeNil()))
		})
	}
}

// with is a copy that has only that key.
func with(published *corev1.ConfigMap, key string) *corev1.ConfigMap {
	published = published.DeepCopy()
	published.Data = map[string]string{key: published.Data[key]}
	return published
}

func TestOutsideOfAPodTheHostMustBeNamed(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	o := parse(t, "--kubeconfig=k")
	_, err := o.Config("v0")
	g.Expect(err).To(MatchError(ContainSubstring("--authentication-kubeconfig, --authorization-kubeconfig must be given")))
}
