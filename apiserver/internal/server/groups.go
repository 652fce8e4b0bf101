// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/proxy"
	"kumodo.io/convoy/apiserver/internal/registry/cluster"
	"kumodo.io/convoy/apiserver/internal/registry/gitrepository"
	"kumodo.io/convoy/apiserver/internal/registry/globalhealthruleset"
	"kumodo.io/convoy/apiserver/internal/registry/healthruleset"
	"kumodo.io/convoy/apiserver/internal/registry/helmregistry"
	"kumodo.io/convoy/apiserver/internal/registry/ociregistry"
	"kumodo.io/convoy/apiserver/internal/registry/release"
	"kumodo.io/convoy/apiserver/internal/registry/releaseinventory"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/relabel"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
)

// storages are the storages of one group version, by resource and subresource.
type storages map[string]rest.Storage

// add merges the storages of a kind.
func (s storages) add(more map[string]rest.Storage, err error) error {
	for path, storage := range more {
		s[path] = storage
	}
	return err
}

// groups builds the storages of all kinds. They are installed together, so that server-side
// apply knows the types of all groups.
func groups(backend resource.Backend, codecs serializer.CodecFactory, shards shardlabel.Labeler, observer *proxy.Proxy) ([]*genericapiserver.APIGroupInfo, error) {
	core, err := coreStorages(backend, shards, observer)
	if err != nil {
		return nil, err
	}
	source, ext := storages{}, storages{}
	for _, err := range []error{
		source.add(gitrepository.NewStorage(backend, shards)),
		source.add(helmregistry.NewStorage(backend, shards)),
		source.add(ociregistry.NewStorage(backend, shards)),
		ext.add(healthruleset.NewStorage(backend)),
		ext.add(globalhealthruleset.NewStorage(backend)),
	} {
		if err != nil {
			return nil, fmt.Errorf("building storages: %w", err)
		}
	}
	return []*genericapiserver.APIGroupInfo{
		group(corev1alpha1.SchemeGroupVersion, core, backend.Scheme, codecs),
		group(sourcev1alpha1.SchemeGroupVersion, source, backend.Scheme, codecs),
		group(extv1alpha1.SchemeGroupVersion, ext, backend.Scheme, codecs),
	}, nil
}

func coreStorages(backend resource.Backend, shards shardlabel.Labeler, observer *proxy.Proxy) (storages, error) {
	core := storages{}
	ofReleases, releases, err := release.NewStorage(backend, shards, observer)
	for _, err := range []error{
		core.add(ofReleases, err),
		core.add(cluster.NewStorage(backend, shards)),
		core.add(releaseinventory.NewStorage(backend, shards, releases)),
	} {
		if err != nil {
			return nil, fmt.Errorf("building storages: %w", err)
		}
	}
	return core, nil
}

// labelledStorages gives the storages whose objects have a shard label.
func labelledStorages(infos []*genericapiserver.APIGroupInfo) []relabel.Storage {
	var labelled []relabel.Storage
	for _, info := range infos {
		for _, of := range info.VersionedResourcesStorageMap {
			for _, storage := range of {
				if whole, ok := storage.(*resource.REST); ok && whole.Labelled() {
					labelled = append(labelled, whole)
				}
			}
		}
	}
	return labelled
}

func group(gv schema.GroupVersion, of storages, scheme *runtime.Scheme, codecs serializer.CodecFactory) *genericapiserver.APIGroupInfo {
	// The parameter codec must know the options of our subresources, which that of the
	// library does not.
	info := genericapiserver.NewDefaultAPIGroupInfo(gv.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
	info.NegotiatedSerializer = noProtobuf{info.NegotiatedSerializer}
	info.VersionedResourcesStorageMap[gv.Version] = of
	return &info
}
