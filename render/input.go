// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"io/fs"

	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/values"
)

// Input is what a render is made of.
type Input struct {
	// Release says what is wanted. It is not changed.
	Release *corev1alpha1.Release
	// Artifact is the content of its source.
	Artifact Artifact
	// References reads what spec.render.helm.valuesFrom refers to, and charts that the chart
	// depends on and does not have; it may be nil when there is none.
	References References
	// Cluster is the target cluster.
	Cluster Cluster
	// Lookup reads objects of the target cluster for templates, if spec.render.helm.lookup
	// lets them; see LookupOf. It must read with the Release's own identity.
	Lookup Lookup
	// Upgrade is true when the Release was applied before: charts can ask for it, and their
	// hooks differ.
	Upgrade bool
}

// Artifact is content at a revision.
type Artifact struct {
	// Root is the whole content, which never changes. An error of it that has a method
	// Temporary() bool and says true, as those of package syscall do, is the error of a render
	// that met it, and not remembered. If it has a method WithContext(context.Context) fs.FS,
	// what that gives is read, whose reading is to end with the context: when the time of the
	// render is over, or nobody waits for it any more.
	Root fs.FS
	// Path of the Release's content in Root, cleaned; "." is the root.
	Path string
	// Digest is the digest of what is at Path, RootDigest that of Root. Content with the
	// same digest is taken for the same.
	Digest, RootDigest string
	// Revision of the content, for messages.
	Revision string
}

// Dependency is a chart that another chart depends on.
type Dependency struct {
	// Repository is the URL of its repository; or @ or alias: and a name.
	Repository string
	// Name of the chart, and Version: a version or a range.
	Name, Version string
}

// MaxValuesFile is how many bytes a file of values may have.
const MaxValuesFile = values.MaxFile

// References reads what a Release refers to in its namespace. What is not there is an
// error for which apierrors.IsNotFound or errors.Is(err, fs.ErrNotExist) holds.
type References interface {
	// ConfigMap gives the data of a ConfigMap.
	ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error)
	// Secret gives the data of a Secret.
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
	// File gives a file of a GitRepository or OCIRegistry, of at most MaxValuesFile bytes.
	File(ctx context.Context, namespace string, ref corev1alpha1.ValuesReference) ([]byte, error)
	// Chart gives a packaged chart from the sources of the namespace, with a RootDigest.
	Chart(ctx context.Context, namespace string, wanted Dependency) (Artifact, error)
}

// Cluster tells what a target cluster can do.
type Cluster interface {
	// Capabilities gives the Kubernetes version and the API versions that are served, as
	// "batch/v1" and as "batch/v1/CronJob". The slice is not changed by anybody any more.
	Capabilities(ctx context.Context) (kubeVersion string, apiVersions []string, err error)
	// Namespaced tells whether objects of a kind live in namespaces. meta.IsNoMatchError
	// holds for the error when the cluster does not serve the kind.
	Namespaced(ctx context.Context, gvk schema.GroupVersionKind) (bool, error)
}
