// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
)

func TestDockerAuthOf(t *testing.T) {
	const packed = "dTpjYW5hcnk=" // u:canary
	for _, tc := range []struct {
		name, config string
		want         DockerAuth
		wantText     string
	}{
		{name: "packed", config: `{"auths":{"r.test":{"auth":"` + packed + `"}}}`, want: DockerAuth{Username: "u", Password: "canary", Auth: packed}},
		{name: "unpacked", config: `{"auths":{"https://r.test/v2/":{"username":"u","password":"canary"}}}`, want: DockerAuth{Username: "u", Password: "canary"}},
		{name: "identity token", config: `{"auths":{"r.test":{"identitytoken":"canary"}}}`, want: DockerAuth{IdentityToken: "canary"}},
		{name: "registry token", config: `{"auths":{"r.test":{"registrytoken":"canary"}}}`, want: DockerAuth{RegistryToken: "canary"}},
		{name: "the longest that fits", config: `{"auths":{"r.test":{"username":"a","password":"a"},"r.test/team":{"username":"b","password":"b"},"r.test/tea":{"username":"c","password":"c"}}}`, want: DockerAuth{Username: "b", Password: "b"}},
		{name: "a helper for others", config: `{"auths":{"r.test":{"username":"u","password":"p"}},"credHelpers":{"other.test":"x"}}`, want: DockerAuth{Username: "u", Password: "p"}},
		{name: "a helper besides", config: `{"auths":{"r.test":{"username":"u","password":"p"}},"credsStore":"desktop"}`, want: DockerAuth{Username: "u", Password: "p"}},
		{name: "nothing needed", config: `{"auths":{"r.test":{}}}`},
		{name: "a helper", config: `{"credHelpers":{"r.test":"ecr-login"}}`, wantText: `to the helper "ecr-login"; helpers are programs`},
		{name: "a helper for all", config: `{"auths":{"r.test":{}},"credsStore":"desktop"}`, wantText: `"desktop"`},
		{name: "a helper for others only", config: `{"credHelpers":{"other.test":"x"}}`, wantText: "no entry for r.test"},
		{name: "no entry", config: `{"auths":{"other.test":{"auth":"` + packed + `"}}}`, wantText: "no entry for r.test"},
		{name: "not packed", config: `{"auths":{"r.test":{"auth":"canary!"}}}`, wantText: "not user:password in base64"},
		{name: "packed without colon", config: `{"auths":{"r.test":{"auth":"Y2FuYXJ5"}}}`, wantText: "not user:password in base64"},
		{name: "nothing", config: `{}`, wantText: "no Docker configuration"},
		{name: "no JSON", config: `canary`, wantText: "no Docker configuration"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := (&Access{DockerConfig: []byte(tc.config), name: "team/s"}).DockerAuth("r.test", "team/app")
			if tc.wantText != "" {
				g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), ContainSubstring("team/s"), Not(ContainSubstring("canary"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

func FuzzDockerAuth(f *testing.F) {
	f.Add([]byte(`{"auths":{"https://index.docker.io/v1/":{"auth":"dTpw"},"r.test/team":{"identitytoken":"t"}},"credHelpers":{"r.test":"x"},"credsStore":"y"}`))
	f.Add([]byte(`{"auths":{"r.test":null,"":{"auth":"!"}}}`))
	f.Fuzz(func(t *testing.T, config []byte) {
		a := &Access{DockerConfig: config, name: "team/s"}
		got, err := a.DockerAuth("r.test", "team/app")
		if err != nil && !errors.Is(err, fault.ErrSecret) {
			t.Fatalf("an error without kind: %v", err)
		}
		for _, secret := range got.secrets() {
			if text := fault.NewScrubber(a.secrets()...).Clean(secret); len(secret) >= 3 && text == secret && secret == (*fault.Scrubber)(nil).Clean(secret) {
				t.Fatalf("the secret %q would be shown", secret)
			}
		}
	})
}
