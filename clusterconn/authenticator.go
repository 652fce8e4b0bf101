// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Secrets reads Secrets of the host cluster.
type Secrets interface {
	// Secret gives the data of a Secret, not to be changed. Of an absent Secret the error
	// is one for which apierrors.IsNotFound holds. Errors hold no data.
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// Authenticator finds server and credentials of agentless Clusters of one auth type.
type Authenticator interface {
	// RESTConfig gives a configuration that is the caller's. It reads everything secret
	// through secrets, which is how a change is noticed, and nothing of convoy's own host. Of
	// the Cluster it reads the spec: it is asked again when that changes. It must not ask
	// another server, or return within seconds, since it holds up everybody who uses the Cluster.
	// Errors wrap ErrInvalid when the Cluster or what it names is to blame, and hold no
	// credentials.
	RESTConfig(ctx context.Context, cluster *corev1alpha1.Cluster, secrets Secrets) (*rest.Config, error)
}

// DefaultAuthenticators gives the authenticators by the name that spec.agentless.auth.type
// has for them. The map is the caller's. It is the list of convoy's own binaries; the API
// admits the names in ClusterSpec's validation (apiserver/internal/validation).
func DefaultAuthenticators() map[string]Authenticator {
	return map[string]Authenticator{
		corev1alpha1.ClusterAuthTypeKubeconfig: kubeconfigAuthenticator{},
	}
}

// secretDigests are digests of the Secrets that a connection was made of.
type secretDigests map[types.NamespacedName][sha256.Size]byte

// recorder notes the Secrets that are read through it.
type recorder struct {
	secrets Secrets
	seen    secretDigests
}

func (r recorder) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	data, err := r.secrets.Secret(ctx, namespace, name)
	if err == nil {
		r.seen[types.NamespacedName{Namespace: namespace, Name: name}] = digest(data)
	}
	return data, err
}

// unchanged reads the Secrets again and says whether all are as they were.
func (d secretDigests) unchanged(ctx context.Context, secrets Secrets) (bool, error) {
	now := recorder{secrets: secrets, seen: secretDigests{}}
	for key := range d {
		if _, err := now.Secret(ctx, key.Namespace, key.Name); err != nil {
			return false, secretError(key, err)
		}
	}
	return maps.Equal(d, now.seen), nil
}

func digest(data map[string][]byte) [sha256.Size]byte {
	hash := sha256.New()
	write := func(part []byte) {
		_ = binary.Write(hash, binary.BigEndian, uint64(len(part)))
		hash.Write(part)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		write([]byte(key))
		write(data[key])
	}
	return [sha256.Size]byte(hash.Sum(nil))
}
