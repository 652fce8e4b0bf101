// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/enrol"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// tokenPlaceholder stands where the token will be, in what a dry run shows.
const tokenPlaceholder = "(the token that the target makes)"

// clusterAddFlags are the flags of `kubectl convoy cluster add`.
type clusterAddFlags struct {
	changeFlags
	plan                enrol.Plan
	context, kubeconfig string
	overwrite, wait     bool
	timeout             time.Duration
	applied             []changed
}

// newClusterAdd is `kubectl convoy cluster add`.
func newClusterAdd(env *environment) *cobra.Command {
	var flags clusterAddFlags
	cmd := &cobra.Command{
		Use:   "add NAME --target-context CONTEXT (--namespaces NAMESPACE,... | --cluster-role ROLE)",
		Short: "Make a cluster a target, from a context of a kubeconfig",
		Long: "Make a cluster a target of convoy, with your own rights there by a context of a kubeconfig. On the target, a\n" +
			"service account is made, with a token, and bound to the rights that you give to convoy: those of a role in some\n" +
			"namespaces, or in the whole cluster. On the host, a Secret with the kubeconfig of that account, and the Cluster.\n" +
			"Your own credentials go nowhere.\n\n" +
			"What is there already is applied over, but a Cluster of that name only with --overwrite, and a namespace never.\n" +
			"Rights that were given to the account before, and are not any more, are taken back. What the host would refuse\n" +
			"is found before anything is done on the target.",
		Example: "  kubectl convoy cluster add edge --target-context edge-admin --namespaces shop,shop-db\n" +
			"  kubectl convoy cluster add lab --target-context lab-admin --cluster-role cluster-admin\n" +
			"  kubectl convoy cluster add edge --target-context edge-admin --namespaces shop --dry-run=client -o yaml",
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.plan.Name = args[0]
			if err := flags.check(); err != nil {
				return err
			}
			return env.addCluster(cmd.Context(), &flags)
		},
	}
	flags.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("target-context", env.completeContexts)
	return cmd
}

func (f *clusterAddFlags) add(cmd *cobra.Command) {
	f.changeFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.context, "target-context", "", "Context of the target in the kubeconfig.")
	flags.StringVar(&f.kubeconfig, "target-kubeconfig", "", "Kubeconfig with that context; by default the one of the host.")
	flags.StringVar(&f.plan.Server, "target-server", "", "URL of the target's API server as convoy reaches it; by default that of the context.")
	flags.StringVar(&f.plan.ProxyURL, "target-proxy-url", "", "Proxy between convoy and the target.")
	flags.StringSliceVar(&f.plan.Namespaces, "namespaces", nil, "Namespaces of the target, which must exist, in which convoy gets the rights of --role.")
	flags.StringVar(&f.plan.Role, "role", "admin", "ClusterRole of the target that is bound in --namespaces.")
	flags.StringVar(&f.plan.ClusterRole, "cluster-role", "", "ClusterRole of the target that is bound in the whole target, such as cluster-admin.")
	flags.StringVar(&f.plan.AccountNamespace, "account-namespace", "convoy", "Namespace of the target for the account; made when it does not exist, and not changed when it does.")
	flags.BoolVar(&f.overwrite, "overwrite", false, "Change a Cluster of that name that exists already.")
	flags.BoolVar(&f.wait, "wait", true, "Wait until convoy has reached the Cluster.")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "How long to wait for the token, and for the Cluster.")
	_ = cmd.MarkFlagRequired("target-context")
	_ = cmd.MarkFlagFilename("target-kubeconfig")
}

func (f *clusterAddFlags) check() error {
	switch {
	case f.dryRun == dryRunServer:
		return errors.New("--dry-run=server cannot be had: the target would have to make a token; use --dry-run=client")
	case len(f.plan.Namespaces) > 0 && f.plan.ClusterRole != "":
		return errors.New("--namespaces and --cluster-role exclude each other")
	case len(f.plan.Namespaces) == 0 && f.plan.ClusterRole == "":
		return errors.New("say what convoy may do on the target: --namespaces a,b gives it the rights of --role (admin) in these, " +
			"--cluster-role cluster-admin everything")
	}
	return f.changeFlags.check()
}

func (e *environment) addCluster(ctx context.Context, flags *clusterAddFlags) error {
	host, namespace, err := e.connectAnyKind()
	if err != nil {
		return err
	}
	flags.plan.Namespace = namespace
	target, err := e.target(flags)
	if err != nil {
		return err
	}
	if err := identify(ctx, host, &flags.plan); err != nil {
		return err
	}
	made, err := madeOnTarget(ctx, target, &flags.plan, flags.onTarget())
	if err != nil {
		return err
	}
	otherRole, rest, err := surplus(made, flags.plan.OnTarget())
	if err != nil {
		return err
	}
	if flags.dryRun == dryRunClient {
		return flags.show(ctx, e, target, rest)
	}
	before, err := flags.refuseExisting(ctx, host)
	if err != nil {
		return err
	}
	// Rights that are missing are found before anything is given up or made.
	if err := flags.tryHost(ctx, host); err != nil {
		return err
	}
	if err := tryRoles(ctx, target, otherRole, flags.onTarget()); err != nil {
		return err
	}
	// The role of a binding cannot be changed.
	if _, err := flags.takeBack(ctx, target, otherRole, flags.onTarget()); err != nil {
		return err
	}
	if err := flags.apply(ctx, e, target, flags.plan.OnTarget(), flags.onTarget()); err != nil {
		return err
	}
	token, err := flags.token(ctx, target)
	if err != nil {
		return err
	}
	objects, err := flags.plan.OnHost(token)
	if err != nil {
		return err
	}
	if err := flags.apply(ctx, e, host, objects, ""); err != nil {
		return err
	}
	// Only now: an account that is given up was in use until here.
	removed, err := flags.takeBack(ctx, target, rest, flags.onTarget())
	if err := errors.Join(flags.tell(e, removed...), err); err != nil {
		return err
	}
	if flags.format != "" {
		if err := flags.report(e.Out, flags.applied...); err != nil {
			return err
		}
	}
	e.tellFormerAccount(&flags.plan, before, flags.context)
	if !flags.wait {
		return nil
	}
	return flags.awaitReady(ctx, e, host)
}

// onTarget is where things are done on the target, behind what was done.
func (f *clusterAddFlags) onTarget() string { return " on " + f.context }

// target connects to the target as the user, and completes the plan with how it is reached.
func (e *environment) target(flags *clusterAddFlags) (dynamic.Interface, error) {
	config, err := e.targetConfig(flags.kubeconfig, flags.context)
	if err != nil {
		return nil, err
	}
	if flags.plan.Server == "" {
		flags.plan.Server = config.Host
		if address, err := url.Parse(config.Host); err == nil && isLoopback(address.Hostname()) {
			fmt.Fprintf(e.ErrOut, "Warning: %s is an address of this machine, which convoy may not reach; give another one with --target-server\n", config.Host)
		}
	}
	flags.plan.CA, flags.plan.TLSServerName = config.CAData, config.ServerName
	if len(flags.plan.CA) == 0 && config.CAFile != "" {
		if flags.plan.CA, err = os.ReadFile(config.CAFile); err != nil {
			return nil, fmt.Errorf("certificate authority of context %s: %w", flags.context, err)
		}
	}
	return dynamic.NewForConfig(config)
}

// targetConfig is the connection by a context of a kubeconfig.
func (e *environment) targetConfig(kubeconfig, name string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	if kubeconfig == "" && e.flags.KubeConfig != nil {
		rules.ExplicitPath = *e.flags.KubeConfig
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("context %s of the target: %w", name, err)
	}
	config.UserAgent = "kubectl-convoy/" + Version
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.WarningHandler = warnings(e.ErrOut)
	return config, nil
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || len(host) > 4 && host[:4] == "127."
}

// show writes what would be applied, and for people what would be removed.
func (f *clusterAddFlags) show(ctx context.Context, e *environment, target dynamic.Interface, rest []onTarget) error {
	onHost, err := f.plan.OnHost(tokenPlaceholder)
	if err != nil {
		return err
	}
	var all []changed
	for _, side := range []struct {
		objects []runtime.Object
		did     string
	}{{f.plan.OnTarget(), "applied" + f.onTarget()}, {onHost, "applied"}} {
		for _, object := range side.objects {
			manifest, err := manifestOf(object)
			if err != nil {
				return err
			}
			did := side.did
			if manifest.GetKind() == "Namespace" {
				did = "created" + f.onTarget() + " unless it exists"
			}
			all = append(all, changed{manifest, did})
		}
	}
	if f.format == "" {
		removed, err := f.takeBack(ctx, target, rest, f.onTarget())
		return errors.Join(f.report(e.Out, append(all, removed...)...), err)
	}
	if f.format != "yaml" {
		return f.report(e.Out, all...)
	}
	for _, one := range all {
		fmt.Fprintf(e.Out, "---\n# %s\n", one.did)
		if err := output.PrintObject(e.Out, f.format, one.object, nil); err != nil {
			return err
		}
	}
	return nil
}

// refuseExisting refuses to write over what is there: of a Secret that something else made also
// with --overwrite, for it would be deleted together with the Cluster. It gives the Secret that
// this command made before, if there is one.
func (f *clusterAddFlags) refuseExisting(ctx context.Context, host dynamic.Interface) (*unstructured.Unstructured, error) {
	secret, made, err := kubeconfigSecret(ctx, host, &f.plan)
	switch {
	case apierrors.IsForbidden(err): // whether it may be written, the server says
	case err != nil:
		return nil, err
	case secret != nil && !made:
		return nil, fmt.Errorf("there is a Secret %s/%s already, which this command has not made: delete it if nothing needs it, or choose another name for the Cluster",
			f.plan.Namespace, f.plan.KubeconfigSecret())
	}
	if f.overwrite {
		return secret, nil
	}
	_, err = host.Resource(clusterKind.resource).Namespace(f.plan.Namespace).Get(ctx, f.plan.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return secret, nil
	case err != nil:
		return nil, fmt.Errorf("Cluster %s/%s: %w", f.plan.Namespace, f.plan.Name, err)
	}
	return nil, fmt.Errorf("there is a Cluster %s/%s already: choose another name, or give --overwrite", f.plan.Namespace, f.plan.Name)
}

// apply applies objects in order, and tells of each.
func (f *clusterAddFlags) apply(ctx context.Context, e *environment, client dynamic.Interface, objects []runtime.Object, where string) error {
	for _, object := range objects {
		manifest, err := manifestOf(object)
		if err != nil {
			return err
		}
		var after *unstructured.Unstructured
		did := "applied"
		if manifest.GetKind() == "Namespace" {
			after, err = ensureNamespace(ctx, client, manifest)
			did = "created"
		} else {
			after, err = applyOne(ctx, client, manifest)
		}
		if err != nil {
			return fmt.Errorf("%s%s: %w", output.NameOf(manifest), where, err)
		}
		if after == nil {
			continue
		}
		f.applied = append(f.applied, changed{after, did + where})
		if err := f.tell(e, f.applied[len(f.applied)-1]); err != nil {
			return err
		}
	}
	return nil
}

// tell tells what was done as it is done; in a format for programs, all objects that were
// applied come together at the end.
func (f *clusterAddFlags) tell(e *environment, done ...changed) error {
	if f.format != "" {
		return nil
	}
	return f.report(e.Out, done...)
}

// token waits until the target has made the token.
func (f *clusterAddFlags) token(ctx context.Context, target dynamic.Interface) (string, error) {
	secrets := target.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(f.plan.AccountNamespace)
	var secret *corev1.Secret
	err := pollFor(ctx, 200*time.Millisecond, f.timeout, func(ctx context.Context) (bool, error) {
		object, err := secrets.Get(ctx, f.plan.TokenSecret(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		secret, err = typed[corev1.Secret](object)
		return err == nil && len(secret.Data[corev1.ServiceAccountTokenKey]) > 0, err
	})
	if wait.Interrupted(err) {
		return "", fmt.Errorf("the target has written no token into Secret %s/%s after %s: does its controller of tokens run?", f.plan.AccountNamespace, f.plan.TokenSecret(), f.timeout)
	}
	if err != nil {
		return "", fmt.Errorf("Secret %s/%s on %s: %w", f.plan.AccountNamespace, f.plan.TokenSecret(), f.context, err)
	}
	return string(secret.Data[corev1.ServiceAccountTokenKey]), nil
}

// awaitReady waits until convoy has reached the Cluster.
func (f *clusterAddFlags) awaitReady(ctx context.Context, e *environment, host dynamic.Interface) error {
	var ready *metav1.Condition
	var version string
	err := pollFor(ctx, 200*time.Millisecond, f.timeout, func(ctx context.Context) (bool, error) {
		object, err := host.Resource(clusterKind.resource).Namespace(f.plan.Namespace).Get(ctx, f.plan.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		cluster, err := typed[corev1alpha1.Cluster](object)
		if err != nil {
			return false, err
		}
		version = cluster.Status.Version
		ready = meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == cluster.Generation, nil
	})
	switch {
	case err == nil:
		fmt.Fprintf(e.ErrOut, "Cluster %s/%s is Ready: Kubernetes %s\n", f.plan.Namespace, f.plan.Name, version)
		return nil
	case !wait.Interrupted(err):
		return fmt.Errorf("Cluster %s/%s: %w", f.plan.Namespace, f.plan.Name, err)
	case ready == nil:
		return fmt.Errorf("nobody has looked at Cluster %s/%s after %s: does convoy-controller-manager run?", f.plan.Namespace, f.plan.Name, f.timeout)
	}
	return fmt.Errorf("Cluster %s/%s is not Ready after %s: %s: %s; see %s", f.plan.Namespace, f.plan.Name, f.timeout, ready.Reason, ready.Message,
		wayout.Command(f.plan.Namespace, "cluster", "list", "-o", "wide"))
}
