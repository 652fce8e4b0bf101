// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	fieldManager   = "convoy"
	requestTimeout = 15 * time.Second
)

// follow prepares the watch of the Secret. It asks for that one by name, so that rights on
// one name are enough.
func (k *Keeper) follow() error {
	k.informer = informers.NewFilteredSecretInformer(k.o.Client, k.o.Secret.Namespace, 0, nil, func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, k.o.Secret.Name).String()
	})
	wake := func(any) {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	if _, err := k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: wake, DeleteFunc: wake, UpdateFunc: func(any, any) { wake(nil) },
	}); err != nil {
		return err
	}
	return k.informer.SetWatchErrorHandlerWithContext(k.watchFailed)
}

// watchFailed says why the Secret cannot be read. That a watch ends is nothing to tell.
func (k *Keeper) watchFailed(ctx context.Context, _ *cache.Reflector, err error) {
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
	if !ended && ctx.Err() == nil {
		k.report(ctx, fmt.Errorf("watching the Secret: %w", err))
	}
}

// secret returns the Secret as this process knows it, read only; nil when there is none.
func (k *Keeper) secret() *corev1.Secret {
	object, found, err := k.informer.GetStore().GetByKey(k.o.Secret.String())
	if err != nil || !found {
		return nil
	}
	return object.(*corev1.Secret)
}

// create makes an empty Secret where there is none; the watch tells when it is there. It is
// applied and not created, for RBAC can give the right to create by name for that only.
func (k *Keeper) create(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret := applycorev1.Secret(k.o.Secret.Name, k.o.Secret.Namespace).
		WithLabels(map[string]string{"app.kubernetes.io/part-of": "convoy"})
	_, err := k.o.Client.CoreV1().Secrets(k.o.Secret.Namespace).Apply(ctx, secret, metav1.ApplyOptions{FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("making the Secret, which does not exist (where this is not allowed, apply the manifests again): %w", err)
	}
	klog.FromContext(ctx).Info("Made the Secret, which did not exist")
	return nil
}

// write replaces the Secret, and returns whether that was done. It is not when somebody else
// wrote before; the watch tells then.
func (k *Keeper) write(ctx context.Context, changed *corev1.Secret) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := k.o.Client.CoreV1().Secrets(changed.Namespace).Update(ctx, changed, metav1.UpdateOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		klog.FromContext(ctx).V(2).Info("Another process wrote the Secret before", "err", err)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("writing the Secret: %w", err)
	}
	return true, nil
}

// Bundle asks the host which authorities are to be trusted now, in PEM. It is for those who
// write it elsewhere, where it must not replace a newer one. It fails while the Secret holds
// no authority.
func (k *Keeper) Bundle(ctx context.Context) ([]byte, error) {
	secret, err := k.o.Client.CoreV1().Secrets(k.o.Secret.Namespace).Get(ctx, k.o.Secret.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", k.o.Secret, err)
	}
	held, faults := read(secret.Data)
	if held.signer == nil {
		return nil, fmt.Errorf("Secret %s holds no certificate authority that can be used %q", k.o.Secret, faults)
	}
	return held.bundle(), nil
}
