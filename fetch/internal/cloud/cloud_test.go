// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
)

// TestCheck lets tokens go to the clouds' own hosts and nowhere else.
func TestCheck(t *testing.T) {
	const aws, gcp, azure = sourcev1alpha1.OCIProviderAWS, sourcev1alpha1.OCIProviderGCP, sourcev1alpha1.OCIProviderAzure
	for _, tc := range []struct {
		provider sourcev1alpha1.OCIProvider
		host     string
		want     bool
	}{
		{aws, "123456789012.dkr.ecr.eu-central-1.amazonaws.com", true},
		{aws, "123456789012.DKR.ecr.eu-central-1.amazonaws.com", true},
		{aws, "123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com", true},
		{aws, "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn", true},
		{aws, "123456789012.dkr-ecr.eu-west-1.on.aws", true},
		{aws, "public.ecr.aws", true},
		{aws, "123456789012.dkr.ecr.eu-central-1.amazonaws.com:443", false},
		{aws, "123456789012.dkr.ecr.eu-central-1.amazonaws.com.evil.test", false},
		{aws, "123456789012.dkr.ecr.evil.test/.amazonaws.com", false},
		{aws, "evil.test", false},
		{aws, "x.public.ecr.aws", false},
		{aws, "bucket.s3.amazonaws.com", false},
		{gcp, "gcr.io", true},
		{gcp, "eu.gcr.io", true},
		{gcp, "europe-docker.pkg.dev", true},
		{gcp, "europe-west1-docker.pkg.dev", true},
		{gcp, "evil.pkg.dev", false},
		{gcp, "evilgcr.io", false},
		{gcp, "europe-docker.pkg.dev.evil.test", false},
		{gcp, "europe-docker.pkg.dev\nevil.test", false},
		{azure, "example.azurecr.io", true},
		{azure, "example.azurecr.us", true},
		{azure, "a.b.azurecr.io", false},
		{azure, "azurecr.io", false},
		{azure, "example.azurecr.io.evil.test", false},
		{azure, "example.azurewebsites.net", false},
		{"", "example.azurecr.io", false},
		{"generic", "example.azurecr.io", false},
	} {
		t.Run(string(tc.provider)+"/"+tc.host, func(t *testing.T) {
			g := NewWithT(t)
			if p, known := providerOf(tc.provider); known && p.login == nil {
				t.Skip("left out by a build tag")
			}
			err := Check(tc.provider, tc.host)
			if tc.want {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, fault.ErrInvalid)).To(BeTrue(), "%v", err)
		})
	}
}

func TestNoIdentityIsTheSameEachTime(t *testing.T) {
	text := func(id string) string {
		return noIdentity("AWS", "operation error ECR: GetAuthorizationToken, https response error StatusCode: 0, RequestID: "+id+", dial tcp: refused").Error()
	}
	NewWithT(t).Expect(text("6b1a-1")).To(Equal(text("7c2b-2")))
}
