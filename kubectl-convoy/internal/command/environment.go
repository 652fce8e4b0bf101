// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/client/clientset/versioned/scheme"
)

// A client may send so many requests a second, and so many at once: as kubectl does.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 300
)

// environment is what every subcommand needs: the connection flags and the streams.
type environment struct {
	flags *genericclioptions.ConfigFlags
	genericiooptions.IOStreams
	// interactive tells whether somebody can be asked on the standard input.
	interactive bool
}

// config gives the connection to the host cluster and the namespace to work in.
func (e *environment) config() (*rest.Config, string, error) {
	namespace, _, err := e.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", err
	}
	config, err := e.flags.ToRESTConfig()
	if err != nil {
		return nil, "", err
	}
	config.UserAgent = "kubectl-convoy/" + Version
	config.WarningHandler = warnings(e.ErrOut)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	return config, namespace, nil
}

// connect returns a client for the host cluster and the namespace to work in.
func (e *environment) connect() (versioned.Interface, string, error) {
	config, namespace, err := e.config()
	if err != nil {
		return nil, "", err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, "", err
	}
	return client, namespace, nil
}

// connectAnyKind is connect with a client for objects of whatever kind.
func (e *environment) connectAnyKind() (dynamic.Interface, string, error) {
	config, namespace, err := e.config()
	if err != nil {
		return nil, "", err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, "", err
	}
	return client, namespace, nil
}

// setKind sets apiVersion and kind, which decoding takes off, so that what is printed
// whole says what it is.
func setKind(object runtime.Object) error {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	return nil
}

// setKinds is setKind for a list and what is in it.
func setKinds(list runtime.Object) error {
	if err := setKind(list); err != nil {
		return err
	}
	return meta.EachListItem(list, setKind)
}

// oneRelease is the argument check of the commands that take one Release.
func oneRelease(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one Release, got %d arguments; see '%s --help'", cmd.Name(), len(args), cmd.CommandPath())
	}
	return nil
}
