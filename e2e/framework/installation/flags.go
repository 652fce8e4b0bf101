// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/e2e/framework/poll"
	"kumodo.io/convoy/e2e/framework/process"
)

// apiTimeout is how long the aggregation layer may take to see the API.
const apiTimeout = 90 * time.Second

// ownCertificates is the flag of the shipped Deployments.
const ownCertificates = "--certificate-secret=" + Namespace + "/" + CertificateSecret

func (i *Installation) apiServerArgs(kubeconfig string) []string {
	args := []string{
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", i.ports.apiServer),
		"--etcd-servers=" + i.options.Host.EtcdURL(),
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		fmt.Sprintf("--observer-url=https://127.0.0.1:%d", i.ports.observer),
	}
	if i.options.OwnCertificates {
		return append(args, ownCertificates)
	}
	pair := i.serving[APIServer]
	return append(args,
		"--tls-cert-file="+pair.CertFile, "--tls-private-key-file="+pair.KeyFile,
		"--observer-ca-file="+i.options.Host.CA().CertFile(),
		"--observer-client-cert-file="+i.client.CertFile, "--observer-client-key-file="+i.client.KeyFile,
	)
}

func (i *Installation) observerArgs(kubeconfig string) []string {
	args := i.withStore([]string{
		"--kubeconfig=" + kubeconfig,
		fmt.Sprintf("--metrics-addr=127.0.0.1:%d", i.ports.observerMetrics),
		fmt.Sprintf("--serve-addr=127.0.0.1:%d", i.ports.observer),
		"--allowed-client-names=" + APIServer,
	})
	if i.options.OwnCertificates {
		return append(args, ownCertificates)
	}
	pair := i.serving[Observer]
	return append(args,
		"--tls-cert-file="+pair.CertFile, "--tls-private-key-file="+pair.KeyFile,
		"--client-ca-file="+i.options.Host.CA().CertFile(),
	)
}

func (i *Installation) managerArgs(kubeconfig string) []string {
	return i.withStore([]string{
		"--kubeconfig=" + kubeconfig,
		fmt.Sprintf("--metrics-addr=127.0.0.1:%d", i.ports.managerMetrics),
	})
}

func (i *Installation) withStore(args []string) []string {
	if i.options.RenderStoreURL == "" {
		return args
	}
	return append(args, "--render-store-url="+i.options.RenderStoreURL)
}

// APIServerURL is where convoy-apiserver itself answers, past the host.
func (i *Installation) APIServerURL() string {
	return fmt.Sprintf("https://127.0.0.1:%d", i.ports.apiServer)
}

// ObserverAddress is where convoy-observer answers convoy-apiserver.
func (i *Installation) ObserverAddress() string { return fmt.Sprintf("127.0.0.1:%d", i.ports.observer) }

// MetricsURL returns where a process of convoy other than the API server tells its metrics.
func (i *Installation) MetricsURL(name string) string {
	port := i.ports.managerMetrics
	if name == Observer {
		port = i.ports.observerMetrics
	}
	return fmt.Sprintf("http://127.0.0.1:%d/metrics", port)
}

// tlsReady passes when /readyz of the port answers over TLS. Own certificates are not
// checked, as a kubelet does not: the host checks them, and is waited for afterwards.
func (i *Installation) tlsReady(port int) func(context.Context) error {
	config := &tls.Config{RootCAs: i.options.Host.CA().Pool(), MinVersion: tls.VersionTLS12, InsecureSkipVerify: i.options.OwnCertificates}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	return process.HTTPReady(client, fmt.Sprintf("https://127.0.0.1:%d/readyz", port))
}

// alive passes when /livez of the port answers: the observer and the controller-manager
// are ready only once the API is, which starts after or beside them.
func alive(port int) func(context.Context) error {
	return process.HTTPReady(nil, fmt.Sprintf("http://127.0.0.1:%d/livez", port))
}

// Ready returns when the processes that run are ready to work.
func (i *Installation) Ready(ctx context.Context) error {
	for name, port := range map[string]int{Observer: i.ports.observerMetrics, ControllerManager: i.ports.managerMetrics} {
		if !i.wanted(name) {
			continue
		}
		check := process.HTTPReady(nil, fmt.Sprintf("http://127.0.0.1:%d/readyz", port))
		if err := poll.Until(ctx, 200*time.Millisecond, check); err != nil {
			return err
		}
	}
	return nil
}

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// awaitAPI returns when the host's aggregation layer serves all three groups, knows their
// OpenAPI documents, and the controllers have caught up.
func (i *Installation) awaitAPI(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	config, err := i.options.Host.RESTConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	host, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	for _, group := range []string{"core", "source", "extensions"} {
		group += ".convoy.kumodo.io"
		name := "v1alpha1." + group
		err := poll.Until(ctx, 200*time.Millisecond, func(ctx context.Context) error {
			service, err := client.Resource(apiServices).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return available(service)
		})
		if err != nil {
			return fmt.Errorf("APIService %s: %w", name, err)
		}
		// The host asks for the document a second after the API came, and kubectl explain needs it.
		err = poll.Until(ctx, 200*time.Millisecond, func(ctx context.Context) error {
			return host.RESTClient().Get().AbsPath("/openapi/v3/apis", group, "v1alpha1").Do(ctx).Error()
		})
		if err != nil {
			return fmt.Errorf("OpenAPI of %s: %w", group, err)
		}
	}
	return i.Ready(ctx)
}

func available(service *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] != "Available" {
			continue
		}
		if condition["status"] == "True" {
			return nil
		}
		return fmt.Errorf("%v: %v", condition["reason"], condition["message"])
	}
	return errors.New("not available yet")
}
