// SPDX-License-Identifier: Apache-2.0

package options

import (
	"bytes"
	"context"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

const (
	// trustInterval is how often it is looked whether the authorities are known.
	trustInterval = 50 * time.Millisecond

	authenticationNamespace = "kube-system"
	authenticationConfigMap = "extension-apiserver-authentication"
)

// Keys under which a host publishes whose client certificates to believe, and whose headers.
const (
	clientAuthority = "client-ca-file"
	headerAuthority = "requestheader-client-ca-file"
)

// Trust is how far the server believes its host.
type Trust struct {
	// HostAuthorization: what the host has authorized is not authorized again.
	HostAuthorization bool
}

// AddFlags adds the flags.
func (t *Trust) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&t.HostAuthorization, "trust-host-authorization", t.HostAuthorization,
		"Do not ask the host whether a request may be made that came through its aggregation layer: the host has authorized it before it passed it on. "+
			"Requests that come past the host, and what else is to be authorized, are asked about in any case.")
}

// bundle gives the authorities that are believed, in PEM.
type bundle interface{ CurrentCABundleContent() []byte }

// awaitTrust keeps the server from being ready until it has read from the host whom to
// believe: until then it would take the host's own requests for those of strangers.
func (o *Options) awaitTrust(generic *genericapiserver.RecommendedConfig) error {
	authentication := o.Recommended.Authentication
	if authentication == nil || authentication.SkipInClusterLookup || generic.ClientConfig == nil || generic.SecureServing == nil || generic.SecureServing.ClientCA == nil {
		return nil
	}
	client, err := kubernetes.NewForConfig(generic.ClientConfig)
	if err != nil {
		return err
	}
	believed := generic.SecureServing.ClientCA
	var keys []string // of what does not come from files
	if authentication.ClientCert.ClientCA == "" {
		keys = append(keys, clientAuthority)
	}
	if authentication.RequestHeader.ClientCAFile == "" {
		keys = append(keys, headerAuthority)
	}
	return generic.AddPostStartHook("trust", func(hook genericapiserver.PostStartHookContext) error {
		return trusts(hook, client.CoreV1().ConfigMaps(authenticationNamespace), keys, believed)
	})
}

// trusts returns when what the host publishes under the keys is believed. A host that
// publishes nothing, or not to this server, is not waited for.
func trusts(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, keys []string, believed bundle) error {
	return wait.PollUntilContextCancel(ctx, trustInterval, true, func(ctx context.Context) (bool, error) {
		published, err := configMaps.Get(ctx, authenticationConfigMap, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			klog.FromContext(ctx).Info("Not waiting for the authorities of the host's clients", "err", err)
			return true, nil
		case err != nil:
			return false, nil
		}
		for _, key := range keys {
			if !bytes.Contains(believed.CurrentCABundleContent(), bytes.TrimSpace([]byte(published.Data[key]))) {
				return false, nil
			}
		}
		return true, nil
	})
}
