// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"kumodo.io/convoy/kubectl-convoy/internal/check"
)

const (
	sectionHost      = "Host"
	sectionAPI       = "API"
	sectionProcesses = "Processes"
	sectionObjects   = "Clusters and sources"

	installFirst = "install convoy, or name the namespace of it with --convoy-namespace"
)

// partOfConvoy selects what an installation is made of.
const partOfConvoy = "app.kubernetes.io/part-of=convoy"

var (
	apiServices  = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	pods         = corev1.SchemeGroupVersion.WithResource("pods")
	secrets      = corev1.SchemeGroupVersion.WithResource("secrets")
	configMaps   = corev1.SchemeGroupVersion.WithResource("configmaps")
	leases       = coordinationv1.SchemeGroupVersion.WithResource("leases")
	reviews      = authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")
)

// ownAPIServices are the APIServices of convoy's three groups.
var ownAPIServices = []string{"v1alpha1.core.convoy.kumodo.io", "v1alpha1.source.convoy.kumodo.io", "v1alpha1.extensions.convoy.kumodo.io"}

// tlsSecrets are Secrets that may hold certificates which convoy uses, and how each is replaced.
// The authority of certificates that convoy makes itself is in the caBundle of the APIServices.
var tlsSecrets = []struct{ name, do string }{
	{"convoy-apiserver-tls", "renew the certificate in Secret %s/convoy-apiserver-tls"},
	{"convoy-observer-tls", "renew the certificate in Secret %s/convoy-observer-tls"},
	{"convoy-observer-client", "renew the certificate in Secret %s/convoy-observer-client"},
	{"convoy-etcd", "renew the client certificate in Secret %s/convoy-etcd"},
}

// checker looks at an installation and its host.
type checker struct {
	*installation
	// withoutSecrets leaves out what is read from Secrets.
	withoutSecrets bool
	report         check.Report
}

// host looks at what any installation needs, and before one, also at the rights for it.
func (c *checker) host(ctx context.Context, before bool) {
	var info version.Info
	if err := read(ctx, c.client, "/version", &info); err != nil {
		c.report.Add(sectionHost, check.NotRead("the API server of the host", "", err))
		return
	}
	c.report.Add(sectionHost, check.HostVersion(info.GitVersion))
	if !before {
		return
	}
	object, err := c.anyKind.Resource(configMaps).Namespace("kube-system").Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		c.report.Add(sectionHost, check.NotRead("ConfigMap kube-system/extension-apiserver-authentication", "is this the API server of a whole cluster?", err))
	} else {
		data, _, _ := unstructured.NestedStringMap(object.Object, "data")
		c.report.Add(sectionHost, check.Aggregation(data))
	}
	var refused []authorizationv1.ResourceAttributes
	for _, right := range check.NeededToInstall(c.namespace) {
		allowed, err := c.allowed(ctx, right)
		if err != nil {
			c.report.Add(sectionHost, check.NotRead("your rights", "", err))
			return
		}
		if !allowed {
			refused = append(refused, right)
		}
	}
	c.report.Add(sectionHost, check.Rights(refused))
}

// allowed asks whether the user has a right.
func (c *checker) allowed(ctx context.Context, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	answer, err := c.anyKind.Resource(reviews).Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}

// installed looks at an installation.
func (c *checker) installed(ctx context.Context) {
	c.api(ctx)
	c.processes(ctx)
	c.objects(ctx)
}

// api looks at how the host reaches convoy's API, and at certificates.
func (c *checker) api(ctx context.Context) {
	bundles := map[string]bool{}
	for _, name := range ownAPIServices {
		object, err := c.anyKind.Resource(apiServices).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			c.report.Add(sectionAPI, check.NotRead("APIService "+name, installFirst, err))
			continue
		}
		status, message := available(object)
		c.report.Add(sectionAPI, check.APIService(name, status, message, c.namespace))
		encoded, _, _ := unstructured.NestedString(object.Object, "spec", "caBundle")
		if bundle := decoded(encoded); len(bundle) > 0 && !bundles[encoded] {
			bundles[encoded] = true
			c.report.Add(sectionAPI, check.Authorities("the caBundle of APIService "+name, "see docs/security.md, certificates", bundle, time.Now()))
		}
	}
	// What is stored is read from etcd, also where convoy-apiserver keeps a copy in memory.
	_, err := c.client.CoreV1alpha1().Clusters(c.namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		c.report.Add(sectionAPI, check.NotRead("convoy-apiserver and its etcd", "kubectl -n "+c.namespace+" logs deployment/convoy-apiserver --all-pods", err))
	} else {
		c.report.Add(sectionAPI, check.Check{Status: check.OK, Message: "convoy-apiserver answers, and reads from its etcd"})
	}
	if !c.withoutSecrets {
		c.certificates(ctx)
	}
}

// available gives status and message of the condition Available of an APIService.
func available(object *unstructured.Unstructured) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if condition["type"] == "Available" {
			status, _ = condition["status"].(string)
			message, _ = condition["message"].(string)
			return status, message
		}
	}
	return "", "nobody has looked at it yet"
}

// certificates looks at those in Secrets of the installation: at the certificates only.
func (c *checker) certificates(ctx context.Context) {
	for _, one := range tlsSecrets {
		object, err := c.anyKind.Resource(secrets).Namespace(c.namespace).Get(ctx, one.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue // each is of one way to install only
		}
		what := "Secret " + c.namespace + "/" + one.name
		if err != nil {
			c.report.Add(sectionAPI, check.NotRead(what, "", err))
			continue
		}
		encoded, found, _ := unstructured.NestedString(object.Object, "data", corev1.TLSCertKey)
		if found {
			c.report.Add(sectionAPI, check.Certificate("the certificate in "+what, fmt.Sprintf(one.do, c.namespace), decoded(encoded), time.Now()))
		}
	}
}

// processes looks at what runs, and who works on the shards.
func (c *checker) processes(ctx context.Context) {
	found, err := listAs[appsv1.Deployment](ctx, c.installation, deployments)
	if err == nil {
		var running []corev1.Pod
		if running, err = listAs[corev1.Pod](ctx, c.installation, pods); err == nil || apierrors.IsForbidden(err) {
			c.report.Add(sectionProcesses, check.Deployments(found, running, c.namespace)...)
			err = nil
		}
	}
	if err != nil {
		c.report.Add(sectionProcesses, check.NotRead("Deployments of namespace "+c.namespace, "", err))
	}
	sets, err := listAs[appsv1.StatefulSet](ctx, c.installation, statefulSets)
	if err != nil {
		c.report.Add(sectionProcesses, check.NotRead("StatefulSets of namespace "+c.namespace, "", err))
	}
	for i := range sets {
		c.report.Add(sectionProcesses, check.StatefulSet(&sets[i]))
	}
	shards, err := c.sharding(ctx)
	if err != nil {
		c.report.Add(sectionProcesses, check.NotRead("who works on the shards", "", err))
		return
	}
	c.report.Add(sectionProcesses, check.Leases(shards, c.namespace)...)
}

// listAs reads what an installation is made of.
func listAs[T any](ctx context.Context, from *installation, resource schema.GroupVersionResource) ([]T, error) {
	list, err := from.anyKind.Resource(resource).Namespace(from.namespace).List(ctx, metav1.ListOptions{LabelSelector: partOfConvoy})
	if err != nil {
		return nil, err
	}
	var all []T
	for i := range list.Items {
		one, err := typed[T](&list.Items[i])
		if err != nil {
			return nil, err
		}
		all = append(all, *one)
	}
	return all, nil
}

// dependency is what Clusters and sources have in common.
type dependency struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Suspend bool `json:"suspend"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// decoded gives what is in a field of bytes; nil for what is none.
func decoded(field string) []byte {
	data, err := base64.StdEncoding.DecodeString(field)
	if err != nil {
		return nil
	}
	return data
}

// objects looks at Clusters and sources.
func (c *checker) objects(ctx context.Context) {
	for _, kind := range []objectKind{clusterKind, gitRepositoryKind, helmRegistryKind, ociRegistryKind} {
		var found []check.Object
		err := inPages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
			list, err := c.anyKind.Resource(kind.resource).List(ctx, options)
			if err != nil {
				return "", err
			}
			for i := range list.Items {
				object, err := typed[dependency](&list.Items[i])
				if err != nil {
					return "", err
				}
				found = append(found, check.Object{
					Kind: kind.name, Namespace: object.Namespace, Name: object.Name,
					Generation: object.Generation, Suspended: object.Spec.Suspend, Conditions: object.Status.Conditions,
				})
			}
			return list.GetContinue(), nil
		})
		if err != nil {
			c.report.Add(sectionObjects, check.NotRead(kind.plural(), "", err))
			continue
		}
		c.report.Add(sectionObjects, check.Objects(kind.plural(), found)...)
	}
}
