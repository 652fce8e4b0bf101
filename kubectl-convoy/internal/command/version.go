// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
)

// Version of this binary; set by the linker in a release build.
var Version = "v0.9.0"

// newVersion is `kubectl convoy version`.
func newVersion(env *environment) *cobra.Command {
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of the plugin, of the host cluster and of convoy in it",
		Long: "Show the versions of the plugin, of the host cluster and of the convoy-apiserver that serves\n" +
			"convoy's API there.",
		Example:           "  kubectl convoy version\n  kubectl convoy version --client",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(env.Out, "Client: %s\n", Version)
			if clientOnly {
				return nil
			}
			client, _, err := env.connect()
			if err != nil {
				return err
			}
			return env.serverVersions(cmd.Context(), client)
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Show the version of the plugin only; ask no server.")
	return cmd
}

// serverVersions writes what the servers say of themselves.
func (e *environment) serverVersions(ctx context.Context, client versioned.Interface) error {
	var host version.Info
	if err := read(ctx, client, "/version", &host); err != nil {
		return fmt.Errorf("version of the host cluster: %w", err)
	}
	fmt.Fprintf(e.Out, "Host cluster: %s\n", host.GitVersion)
	api := corev1alpha1.SchemeGroupVersion.String()
	err := read(ctx, client, "/apis/"+api, &metav1.APIResourceList{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the host cluster does not know the API %s: convoy is not installed there", api)
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("the host cluster knows the API %s, but gets no answer from convoy-apiserver: %w", api, err)
	case err != nil:
		return fmt.Errorf("asking for the API %s: %w", api, err)
	}
	fmt.Fprintf(e.Out, "API: %s\n", api)
	fmt.Fprintf(e.Out, "convoy-apiserver: %s\n", convoyVersion(ctx, client))
	return nil
}

// convoyVersion is the version of convoy-apiserver. Its /version cannot be asked, since the
// host answers there itself; but its description of the API carries it. A server that does
// not tell it is no failure.
func convoyVersion(ctx context.Context, client versioned.Interface) string {
	path := "/openapi/v3/apis/" + corev1alpha1.SchemeGroupVersion.String()
	var description struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	if err := read(ctx, client, path, &description); err != nil {
		return fmt.Sprintf("answers, version unknown (%s: %v)", path, err)
	}
	if description.Info.Version == "" {
		return fmt.Sprintf("answers, version unknown (%s does not tell it)", path)
	}
	return description.Info.Version
}

// read decodes the JSON at a path of the host cluster.
func read(ctx context.Context, client versioned.Interface, path string, into any) error {
	return decode(client.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx), into)
}

// decode decodes the JSON of an answer.
func decode(answer rest.Result, into any) error {
	// Not the error of Raw, which has not read what the server says about it.
	if err := answer.Error(); err != nil {
		return err
	}
	data, err := answer.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
