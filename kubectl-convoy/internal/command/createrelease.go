// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// releaseFlags are the flags of `kubectl convoy create release`.
type releaseFlags struct {
	createFlags
	spec   corev1alpha1.ReleaseSpec
	source string
	// What is wanted of the source; each kind takes some of them.
	branch, tag, semver, commit, path, chart, version, repository, digest string

	manual                  bool
	valuesFiles, valuesFrom []string
	values                  string
	dependsOn               []string
}

// newCreateRelease is `kubectl convoy create release`.
func newCreateRelease(env *environment) *cobra.Command {
	var flags releaseFlags
	cmd := &cobra.Command{
		Use:   "release NAME --to-cluster CLUSTER --source KIND/NAME",
		Short: "Create a Release",
		Long: "Create a Release: what is delivered, of which source, to which Cluster. Both are objects of the same\n" +
			"namespace, and need not exist yet.",
		Example: "  kubectl convoy create release web --to-cluster edge --source gitrepository/apps --branch main --path web\n" +
			"  kubectl convoy create release ingress --to-cluster edge --source helmregistry/charts --chart ingress-nginx \\\n" +
			"    --version '>=4.0.0 <5.0.0' --target-namespace ingress --create-namespace --values values.yaml --export\n" +
			"  kubectl convoy create release web --to-cluster edge --source ociregistry/registry --repository team/web --semver 1.x",
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			metadata, err := flags.metadata(env, args[0])
			if err != nil {
				return err
			}
			if err := flags.complete(env.In); err != nil {
				return err
			}
			return env.create(cmd.Context(), &flags.createFlags, releaseKind, &corev1alpha1.Release{ObjectMeta: metadata, Spec: flags.spec})
		},
	}
	flags.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("to-cluster", env.completeClusterFlag)
	_ = cmd.RegisterFlagCompletionFunc("source", env.completeSourceFlag)
	return cmd
}

func (f *releaseFlags) add(cmd *cobra.Command) {
	f.createFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.spec.ClusterRef.Name, "to-cluster", "", "Cluster of the namespace to deliver to.")
	flags.StringVar(&f.source, "source", "", "Source object of the namespace: gitrepository/NAME, helmregistry/NAME or ociregistry/NAME.")
	flags.StringVar(&f.branch, "branch", "", "Git: branch whose newest commit is wanted; without --tag, --semver and --commit the default branch.")
	flags.StringVar(&f.tag, "tag", "", "Git, OCI: tag of exactly this name.")
	flags.StringVar(&f.semver, "semver", "", "Git, OCI: range of versions, of which the highest tag is wanted.")
	flags.StringVar(&f.commit, "commit", "", "Git: id of a commit, 40 hex digits.")
	flags.StringVar(&f.path, "path", "", "Git, OCI: folder of the content; the root when not given.")
	flags.StringVar(&f.chart, "chart", "", "Helm: name of the chart.")
	flags.StringVar(&f.version, "version", "", "Helm: version of the chart, or a range; the newest stable one when not given.")
	flags.StringVar(&f.repository, "repository", "", "OCI: repository in the registry.")
	flags.StringVar(&f.digest, "digest", "", "OCI: digest of the manifest.")
	flags.StringVar(&f.spec.TargetNamespace, "target-namespace", "", "Namespace of the target for objects that name none; the Release's own when not given.")
	flags.BoolVar(&f.spec.CreateNamespace, "create-namespace", false, "Create the target namespace.")
	flags.StringVar(&f.spec.ServiceAccountName, "service-account", "", "Account of the target namespace, on the target, that all is done as.")
	flags.Int32Var(&f.spec.Wave, "wave", 0, "Order among the Releases of the Cluster: lower ones go first.")
	flags.StringSliceVar(&f.dependsOn, "depends-on", nil, "Releases of the namespace that must be applied and healthy first.")
	flags.BoolVar(&f.manual, "manual", false, "Sync only when somebody asks for it.")
	flags.StringVar(&f.values, "values", "", "Helm: file of this machine with values, or - for the standard input.")
	flags.StringSliceVar(&f.valuesFiles, "values-file", nil, "Helm: file of the content with values, relative to the chart.")
	flags.StringSliceVar(&f.valuesFrom, "values-from", nil, "Helm: ConfigMap or Secret of the namespace with values: configmap/NAME or secret/NAME, with :KEY behind it if that is not values.yaml.")
	_ = cmd.MarkFlagRequired("to-cluster")
	_ = cmd.MarkFlagRequired("source")
	_ = cmd.MarkFlagFilename("values", "yaml", "yml", "json")
}

// complete makes the spec of the flags.
func (f *releaseFlags) complete(stdin io.Reader) error {
	if err := f.completeSource(); err != nil {
		return err
	}
	if f.manual {
		f.spec.Sync.Mode = corev1alpha1.SyncModeManual
	}
	for _, name := range f.dependsOn {
		f.spec.DependsOn = append(f.spec.DependsOn, corev1alpha1.Dependency{Name: name})
	}
	return f.completeValues(stdin)
}

func (f *releaseFlags) completeSource() error {
	kind, name, err := (&selection{kinds: []objectKind{gitRepositoryKind, helmRegistryKind, ociRegistryKind}}).parse(f.source)
	if err == nil && !strings.Contains(f.source, "/") {
		err = fmt.Errorf("%q does not say of what kind it is", f.source)
	}
	if err != nil {
		return fmt.Errorf("--source: %w; it is gitrepository/NAME, helmregistry/NAME or ociregistry/NAME", err)
	}
	ref := corev1alpha1.LocalReference{Name: name}
	wanted := map[string]string{"branch": f.branch, "tag": f.tag, "semver": f.semver, "commit": f.commit, "path": f.path,
		"chart": f.chart, "version": f.version, "repository": f.repository, "digest": f.digest}
	switch kind.name {
	case gitRepositoryKind.name:
		f.spec.Source.Git = &corev1alpha1.GitSource{
			RepositoryRef: ref, Path: f.path,
			Ref: corev1alpha1.GitRef{Branch: f.branch, Tag: f.tag, Semver: f.semver, Commit: f.commit},
		}
		return only(kind, wanted, "", "branch", "tag", "semver", "commit", "path")
	case helmRegistryKind.name:
		f.spec.Source.Helm = &corev1alpha1.HelmSource{RegistryRef: ref, Chart: f.chart, Version: f.version}
		return only(kind, wanted, "chart", "chart", "version")
	}
	f.spec.Source.OCI = &corev1alpha1.OCISource{
		RegistryRef: ref, Repository: f.repository, Path: f.path,
		Ref: corev1alpha1.OCIRef{Tag: f.tag, Semver: f.semver, Digest: f.digest},
	}
	return only(kind, wanted, "repository", "repository", "tag", "semver", "digest", "path")
}

// only refuses flags that do not fit a kind of source, and misses the one that it needs.
func only(kind objectKind, flags map[string]string, needed string, fitting ...string) error {
	if needed != "" && flags[needed] == "" {
		return fmt.Errorf("with a %s, --%s has to be given", kind.name, needed)
	}
	for _, name := range fitting {
		delete(flags, name)
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if flags[name] != "" {
			return fmt.Errorf("--%s does not fit a %s, which takes --%s", name, kind.name, strings.Join(fitting, ", --"))
		}
	}
	return nil
}

func (f *releaseFlags) completeValues(stdin io.Reader) error {
	if f.values == "" && len(f.valuesFiles) == 0 && len(f.valuesFrom) == 0 {
		return nil
	}
	helm := &corev1alpha1.HelmRender{ValuesFiles: f.valuesFiles}
	if f.values != "" {
		values, err := readValues(f.values, stdin)
		if err != nil {
			return fmt.Errorf("--values: %w", err)
		}
		helm.Values = &runtime.RawExtension{Raw: values}
	}
	for _, from := range f.valuesFrom {
		reference, err := valuesReference(from)
		if err != nil {
			return fmt.Errorf("--values-from: %w", err)
		}
		helm.ValuesFrom = append(helm.ValuesFrom, reference)
	}
	f.spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: helm}
	return nil
}

// readValues reads values as JSON from a file of YAML, or from the standard input.
func readValues(path string, stdin io.Reader) ([]byte, error) {
	data, err := readFile(path, stdin)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("%s has no map of values: %w", path, err)
	}
	return yaml.YAMLToJSON(data)
}

func valuesReference(text string) (corev1alpha1.ValuesReference, error) {
	word, name, _ := strings.Cut(text, "/")
	name, key, _ := strings.Cut(name, ":")
	reference := corev1alpha1.ValuesReference{Name: name, Key: key}
	switch strings.ToLower(word) {
	case "configmap", "cm":
		reference.Kind = "ConfigMap"
	case "secret":
		reference.Kind = "Secret"
	default:
		return reference, fmt.Errorf("%q is neither configmap/NAME nor secret/NAME", text)
	}
	if name == "" {
		return reference, errors.New("a name is missing behind " + word + "/")
	}
	return reference, nil
}
