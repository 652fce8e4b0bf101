// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extensionsv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// dumped are convoy's kinds.
var dumped = []schema.GroupVersionResource{
	releaseKind.resource, clusterKind.resource, corev1alpha1.SchemeGroupVersion.WithResource("releaseinventories"),
	gitRepositoryKind.resource, helmRegistryKind.resource, ociRegistryKind.resource,
	extensionsv1alpha1.SchemeGroupVersion.WithResource("healthrulesets"), extensionsv1alpha1.SchemeGroupVersion.WithResource("globalhealthrulesets"),
}

var events = corev1.SchemeGroupVersion.WithResource("events")

// ofInstallation are the kinds that an installation is made of, without those that hold secrets.
var ofInstallation = []schema.GroupVersionResource{
	deployments, statefulSets, pods, corev1.SchemeGroupVersion.WithResource("services"),
}

// reach asks the host who it is, without which there is nothing to collect.
func (d *dumper) reach(ctx context.Context) error {
	var info version.Info
	if err := read(ctx, d.client, "/version", &info); err != nil {
		return fmt.Errorf("version of the host cluster: %w", err)
	}
	return nil
}

// collect adds all there is. An error is one of writing: what cannot be read is noted.
func (d *dumper) collect(ctx context.Context) error {
	for _, step := range []func(context.Context) error{d.versions, d.judgements, d.ownObjects, d.ownEvents, d.system, d.podLogs} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) versions(ctx context.Context) error {
	var text bytes.Buffer
	teller := &environment{IOStreams: d.IOStreams}
	teller.Out = &text
	fmt.Fprintf(&text, "Client: %s\n", Version)
	if err := teller.serverVersions(ctx, d.client); err != nil {
		d.bundle.Fail("versions", err)
	}
	return d.bundle.Text("version.txt", text.String())
}

// judgements adds what check and shards say.
func (d *dumper) judgements(ctx context.Context) error {
	checker := &checker{installation: &d.installation, withoutSecrets: true}
	checker.host(ctx, false)
	checker.installed(ctx)
	var text bytes.Buffer
	if err := output.Checks(&text, &checker.report); err != nil {
		return err
	}
	if err := d.bundle.Text("check.txt", text.String()); err != nil {
		return err
	}
	report, err := d.sharding(ctx)
	if err != nil {
		d.bundle.Fail("shards", err)
		return nil
	}
	text.Reset()
	if err := output.Shards(&text, report); err != nil {
		return err
	}
	return d.bundle.Text("shards.txt", text.String())
}

// ownObjects adds convoy's objects, each a file.
func (d *dumper) ownObjects(ctx context.Context) error {
	for _, resource := range dumped {
		err := d.each(ctx, resource, metav1.NamespaceAll, metav1.ListOptions{}, func(object *unstructured.Unstructured) error {
			d.objects++
			return d.bundle.Object(fmt.Sprintf("objects/%s/%s/%s.yaml", resource.Resource, object.GetNamespace(), object.GetName()), object.Object)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ownEvents adds the events of convoy's objects, a file for each kind.
func (d *dumper) ownEvents(ctx context.Context) error {
	for _, kind := range []objectKind{releaseKind, clusterKind, gitRepositoryKind, helmRegistryKind, ociRegistryKind} {
		options := metav1.ListOptions{FieldSelector: "involvedObject.apiVersion=" + kind.resource.GroupVersion().String() + ",involvedObject.kind=" + kind.name}
		if err := d.list(ctx, "events/"+kind.resource.Resource+".yaml", events, metav1.NamespaceAll, options); err != nil {
			return err
		}
	}
	return d.list(ctx, "system/events.yaml", events, d.namespace, metav1.ListOptions{})
}

// system adds what convoy runs as.
func (d *dumper) system(ctx context.Context) error {
	for _, resource := range ofInstallation {
		if err := d.list(ctx, "system/"+resource.Resource+".yaml", resource, d.namespace, metav1.ListOptions{LabelSelector: partOfConvoy}); err != nil {
			return err
		}
	}
	if err := d.list(ctx, "system/leases.yaml", leases, d.namespace, metav1.ListOptions{}); err != nil {
		return err
	}
	for _, name := range ownAPIServices {
		object, err := d.anyKind.Resource(apiServices).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			d.bundle.Fail("APIService "+name, err)
			continue
		}
		if err := d.bundle.Object("system/apiservices/"+name+".yaml", object.Object); err != nil {
			return err
		}
	}
	return nil
}

// list adds the objects of a kind as one file.
func (d *dumper) list(ctx context.Context, file string, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) error {
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	items := []any{}
	err := d.each(ctx, resource, namespace, options, func(object *unstructured.Unstructured) error {
		if metadata, ok := object.Object["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
		items = append(items, object.Object)
		return nil
	})
	if err != nil {
		return err
	}
	list["items"] = items
	return d.bundle.Object(file, list)
}

// each reads the objects of a kind; where all namespaces may not be read, those of the one to
// work in. An error is one of do: what cannot be read is noted.
func (d *dumper) each(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions, do func(*unstructured.Unstructured) error) error {
	var failed error
	err := inPages(options, func(options metav1.ListOptions) (string, error) {
		list, err := d.anyKind.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			if failed = do(&list.Items[i]); failed != nil {
				return "", nil
			}
		}
		return list.GetContinue(), nil
	})
	if err == nil || failed != nil {
		return failed
	}
	d.bundle.Fail(resource.GroupResource().String(), err)
	if apierrors.IsForbidden(err) && namespace == metav1.NamespaceAll {
		return d.each(ctx, resource, d.current, options, do)
	}
	return nil
}

// podLogs adds what convoy's Pods wrote, also before their last restart.
func (d *dumper) podLogs(ctx context.Context) error {
	if !d.logs {
		return nil
	}
	found, err := listAs[corev1.Pod](ctx, &d.installation, pods)
	if err != nil {
		d.bundle.Fail("logs", err)
		return nil
	}
	for i := range found {
		for _, container := range found[i].Spec.Containers {
			if err := d.log(ctx, &found[i], container.Name, false); err != nil {
				return err
			}
		}
		for _, status := range found[i].Status.ContainerStatuses {
			if status.RestartCount > 0 {
				if err := d.log(ctx, &found[i], status.Name, true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *dumper) log(ctx context.Context, pod *corev1.Pod, container string, previous bool) error {
	name := "logs/" + pod.Name + "/" + container
	if previous {
		name += "-previous"
	}
	request := d.client.Discovery().RESTClient().Get().AbsPath("/api/v1/namespaces/"+pod.Namespace+"/pods/"+pod.Name+"/log").
		Param("container", container).Param("previous", strconv.FormatBool(previous))
	if d.since > 0 {
		request.Param("sinceSeconds", strconv.FormatInt(max(int64(d.since/time.Second), 1), 10))
	}
	stream, err := request.Stream(ctx)
	if err != nil {
		d.bundle.Fail(name, err)
		return nil
	}
	defer stream.Close()
	return d.bundle.Log(name+".log", stream)
}
