// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
)

// newCreateSource is `kubectl convoy create source`.
func newCreateSource(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "source",
		Short: "Create a GitRepository, a HelmRegistry or an OCIRegistry",
		Long: "Create a source: where content is, and how it is reached. Which revision, chart or tag of it is wanted is the\n" +
			"Release's to say. Credentials are in a Secret of the namespace, which is made with kubectl create secret.",
		Example: "  kubectl convoy create source git apps --url https://git.example.com/apps.git --export\n" +
			"  kubectl convoy create source helm charts --url https://charts.example.com --export\n" +
			"  kubectl convoy create source oci registry --url oci://registry.example.com/team --export",
		Args: noSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCreateGitRepository(env), newCreateHelmRegistry(env), newCreateOCIRegistry(env))
	return cmd
}

// sourceFlags are the flags that all sources have.
type sourceFlags struct {
	createFlags
	url, secret, caSecret string
	interval, timeout     time.Duration
}

func (f *sourceFlags) add(cmd *cobra.Command, url string) {
	f.createFlags.add(cmd)
	cmd.Flags().StringVar(&f.url, "url", "", url+" It may hold no credentials.")
	cmd.Flags().StringVar(&f.secret, "secret-ref", "", "Secret of the namespace with the credentials.")
	cmd.Flags().StringVar(&f.caSecret, "ca-secret-ref", "", "Secret of the namespace whose ca.crt is trusted for the host.")
	cmd.Flags().DurationVar(&f.interval, "interval", 0, "How often it is asked whether it answers; 10m when not given.")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "How long one operation may take; 60s when not given.")
	_ = cmd.MarkFlagRequired("url")
}

func secretReference(name string) *sourcev1alpha1.SecretReference {
	if name == "" {
		return nil
	}
	return &sourcev1alpha1.SecretReference{Name: name}
}

func durationOrNone(d time.Duration) *metav1.Duration {
	if d == 0 {
		return nil
	}
	return &metav1.Duration{Duration: d}
}

// oneName is the argument check of commands that take the name of something.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one name, got %d arguments; see '%s --help'", cmd.Name(), len(args), cmd.CommandPath())
	}
	return nil
}

// newCreateGitRepository is `kubectl convoy create source git`.
func newCreateGitRepository(env *environment) *cobra.Command {
	var flags sourceFlags
	var submodules bool
	var provider string
	cmd := &cobra.Command{
		Use:   "git NAME --url URL",
		Short: "Create a GitRepository",
		Long:  "Create a GitRepository: a Git repository, and how it is reached.",
		Example: "  kubectl convoy create source git apps --url https://git.example.com/apps.git\n" +
			"  kubectl convoy create source git apps --url ssh://git@git.example.com/apps.git --secret-ref apps-key --export",
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			metadata, err := flags.metadata(env, args[0])
			if err != nil {
				return err
			}
			return env.create(cmd.Context(), &flags.createFlags, gitRepositoryKind, &sourcev1alpha1.GitRepository{
				ObjectMeta: metadata,
				Spec: sourcev1alpha1.GitRepositorySpec{
					URL: flags.url, SecretRef: secretReference(flags.secret), CASecretRef: secretReference(flags.caSecret),
					Provider: sourcev1alpha1.GitProvider(provider), RecurseSubmodules: submodules,
					Interval: durationOrNone(flags.interval), Timeout: durationOrNone(flags.timeout),
				},
			})
		},
	}
	flags.add(cmd, "URL of the repository: https, http or ssh.")
	cmd.Flags().BoolVar(&submodules, "recurse-submodules", false, "Fetch submodules too.")
	cmd.Flags().StringVar(&provider, "provider", "", "generic (when not given), or github for the tokens of an App.")
	_ = cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions([]string{"generic", "github"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// newCreateHelmRegistry is `kubectl convoy create source helm`.
func newCreateHelmRegistry(env *environment) *cobra.Command {
	var flags sourceFlags
	var passCredentials, insecure bool
	cmd := &cobra.Command{
		Use:   "helm NAME --url URL",
		Short: "Create a HelmRegistry",
		Long:  "Create a HelmRegistry: a repository of Helm charts, and how it is reached.",
		Example: "  kubectl convoy create source helm charts --url https://charts.example.com\n" +
			"  kubectl convoy create source helm charts --url oci://registry.example.com/charts --secret-ref pull --export",
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			metadata, err := flags.metadata(env, args[0])
			if err != nil {
				return err
			}
			return env.create(cmd.Context(), &flags.createFlags, helmRegistryKind, &sourcev1alpha1.HelmRegistry{
				ObjectMeta: metadata,
				Spec: sourcev1alpha1.HelmRegistrySpec{
					URL: flags.url, SecretRef: secretReference(flags.secret), CASecretRef: secretReference(flags.caSecret),
					PassCredentials: passCredentials, Insecure: insecure,
					Interval: durationOrNone(flags.interval), Timeout: durationOrNone(flags.timeout),
				},
			})
		},
	}
	flags.add(cmd, "URL of the charts: https or http for a repository with an index, oci for a registry.")
	cmd.Flags().BoolVar(&passCredentials, "pass-credentials", false, "Send credentials to other hosts too that the index names.")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "Accept any certificate, and plain http for an oci URL.")
	return cmd
}

// newCreateOCIRegistry is `kubectl convoy create source oci`.
func newCreateOCIRegistry(env *environment) *cobra.Command {
	var flags sourceFlags
	var provider string
	var insecure bool
	cmd := &cobra.Command{
		Use:   "oci NAME --url URL",
		Short: "Create an OCIRegistry",
		Long:  "Create an OCIRegistry: a registry of OCI artifacts, and how it is reached.",
		Example: "  kubectl convoy create source oci registry --url oci://registry.example.com/team\n" +
			"  kubectl convoy create source oci registry --url oci://registry.example.com --secret-ref pull --export",
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			metadata, err := flags.metadata(env, args[0])
			if err != nil {
				return err
			}
			return env.create(cmd.Context(), &flags.createFlags, ociRegistryKind, &sourcev1alpha1.OCIRegistry{
				ObjectMeta: metadata,
				Spec: sourcev1alpha1.OCIRegistrySpec{
					URL: flags.url, SecretRef: secretReference(flags.secret), CASecretRef: secretReference(flags.caSecret),
					Provider: sourcev1alpha1.OCIProvider(provider), Insecure: insecure,
					Interval: durationOrNone(flags.interval), Timeout: durationOrNone(flags.timeout),
				},
			})
		},
	}
	flags.add(cmd, "URL of the registry: oci://host, with a prefix or not.")
	cmd.Flags().StringVar(&provider, "provider", "", "generic (when not given), or aws, gcp, azure for the identity of the controllers there.")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "Accept plain http and any certificate.")
	_ = cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions([]string{"generic", "aws", "gcp", "azure"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
