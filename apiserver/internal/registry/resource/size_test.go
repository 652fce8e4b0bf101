// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestObjectsThatEtcdDoesNotTake(t *testing.T) {
	other := errors.New("other")
	small, large := &corev1alpha1.Release{}, &corev1alpha1.Release{}
	large.Spec.ServiceAccountName = strings.Repeat("a", maxStored)
	for name, c := range map[string]struct {
		object *corev1alpha1.Release
		dryRun []string
		err    error
		want   error // nil: that it is too large
	}{
		"etcd refuses it":                        {object: large, err: fmt.Errorf("create: %w", rpctypes.ErrRequestTooLarge)},
		"the client does not send it":            {object: large, err: fmt.Errorf("create: %w", status.Error(codes.ResourceExhausted, "trying to send message larger than max"))},
		"a dry run of it":                        {object: large, dryRun: []string{"All"}},
		"a dry run of what fails":                {object: large, dryRun: []string{"All"}, err: other, want: other},
		"a dry run of what would be taken":       {object: small, dryRun: []string{"All"}, want: errNone},
		"what etcd has taken, whatever its size": {object: large, want: errNone},
		"another failure":                        {object: small, err: other, want: other},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := tooLarge(corev1alpha1.Resource("releases"), "app", c.object, c.dryRun, c.err)
			switch c.want {
			case nil:
				g.Expect(apierrors.IsRequestEntityTooLargeError(err)).To(BeTrue(), "%v", err)
				g.Expect(err).To(MatchError(And(ContainSubstring(`releases.core.convoy.kumodo.io "app"`), ContainSubstring("ConfigMaps"))))
			case errNone:
				g.Expect(err).NotTo(HaveOccurred())
			default:
				g.Expect(err).To(Equal(c.want))
			}
		})
	}
}

var errNone = errors.New("none")
