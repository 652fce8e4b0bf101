// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// migrationRun is one run of a command that migrates.
type migrationRun struct {
	*environment
	*migrateFlags
	namespace string
	client    dynamic.Interface
	api       versioned.Interface
	mapper    meta.RESTMapper
	reader    migrate.Reader
}

// newMigrationRun connects, and finds in which versions the host serves the kinds that may be
// chosen. Those that it does not serve cannot be chosen.
func (e *environment) newMigrationRun(ctx context.Context, flags *migrateFlags) (*migrationRun, error) {
	config, namespace, err := e.config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	api, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(asking))
	var served []objectKind
	for _, kind := range flags.choice.kinds {
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: kind.resource.Group, Kind: kind.name})
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking for kind %s: %w", kind.name, err)
		}
		kind.resource = mapping.Resource
		served = append(served, kind)
	}
	if len(served) == 0 {
		return nil, fmt.Errorf("the host serves no %s: is this the cluster, and the context?", flags.choice.kinds[0].plural())
	}
	flags.choice.kinds = served
	run := &migrationRun{environment: e, migrateFlags: flags, namespace: namespace, client: client, api: api, mapper: mapper}
	run.reader = liveReader{
		get: func(kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error) {
			return run.get(ctx, kind, namespace, name)
		},
		list: func(kind schema.GroupKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
			return run.list(ctx, kind, namespace, selector)
		},
	}
	return run, nil
}

// liveReader reads the host.
type liveReader struct {
	get  func(kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error)
	list func(kind schema.GroupKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error)
}

// Get is migrate.Reader's.
func (l liveReader) Get(kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error) {
	return l.get(kind, namespace, name)
}

// List is migrate.Reader's.
func (l liveReader) List(kind schema.GroupKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	return l.list(kind, namespace, selector)
}

// resource gives the client of a kind in the version that the host serves.
func (r *migrationRun) resource(kind schema.GroupKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := r.mapper.RESTMapping(kind)
	if err != nil {
		return nil, err
	}
	return r.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// get is as migrate.Reader's Get says.
func (r *migrationRun) get(ctx context.Context, kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, nil
	}
	resource, err := r.resource(kind, namespace)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	object, err := resource.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", kind.Kind, namespace, name, err)
	}
	return object, nil
}

// list is as migrate.Reader's List says.
func (r *migrationRun) list(ctx context.Context, kind schema.GroupKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	resource, err := r.resource(kind, namespace)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	err = inPages(metav1.ListOptions{LabelSelector: selector.String()}, func(options metav1.ListOptions) (string, error) {
		list, err := resource.List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("listing %s in namespace %s: %w", kind.Kind, namespace, err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
		return list.GetContinue(), nil
	})
	return all, err
}

// export writes the objects of convoy. Secrets with what is in them only when that is asked for.
func (r *migrationRun) export(all []*migrate.Migration) error {
	support, err := migrate.Support(all)
	if err != nil {
		return err
	}
	var objects []runtime.Object
	for _, object := range support {
		if secret, is := object.(*corev1.Secret); is && !r.withSecrets {
			fmt.Fprintf(r.ErrOut, "Secret %s/%s has to be made, too: --with-secrets writes it, --apply makes it\n", secret.Namespace, secret.Name)
			continue
		}
		objects = append(objects, object)
	}
	for _, m := range all {
		for _, release := range m.Releases {
			objects = append(objects, release)
		}
	}
	manifests := make([]changed, len(objects))
	for i, object := range objects {
		manifest, err := manifestOf(object)
		if err != nil {
			return err
		}
		manifests[i] = changed{manifest, "mapped"}
	}
	if r.format != "" && r.format != "yaml" {
		return (&changeFlags{format: r.format}).report(r.Out, manifests...)
	}
	for i, manifest := range manifests {
		if i > 0 {
			fmt.Fprintln(r.Out, "---")
		}
		if err := output.PrintObject(r.Out, "yaml", manifest.object, nil); err != nil {
			return err
		}
	}
	return nil
}
