// SPDX-License-Identifier: Apache-2.0

package cosign

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"

	"kumodo.io/convoy/fetch/internal/verify/attached"
)

// Annotations of a layer with a payload, see cosign's specification of signatures.
const (
	annotationSignature   = "dev.cosignproject.cosign/signature"
	annotationCertificate = "dev.sigstore.cosign/certificate"
	annotationLog         = "dev.sigstore.cosign/bundle"
	annotationTimestamp   = "dev.sigstore.cosign/rfc3161timestamp"
)

// oldBundle is the version that still knows certificates in chains, and entries of a log with
// nothing but the log's promise.
const oldBundle = "application/vnd.dev.sigstore.bundle+json;version=0.1"

// read takes a layer apart.
func read(layer ocispec.Descriptor, data []byte) (signature, error) {
	if layer.MediaType == simpleSigning {
		entity, err := simple(data, layer.Annotations)
		return signature{entity: entity, payload: data}, err
	}
	entity := new(bundle.Bundle)
	if err := entity.UnmarshalJSON(data); err != nil {
		return signature{}, errors.New("the bundle is malformed: " + err.Error())
	}
	// Who signs a file says that it is theirs. That it may be deployed is another thing to say.
	if entity.GetDsseEnvelope() == nil {
		return signature{}, errors.New("its bundle signs the manifest as a file (cosign sign-blob), which does not sign the artifact; use cosign sign")
	}
	return signature{entity: entity}, nil
}

// simple makes a bundle of a signed payload and its annotations.
func simple(payload []byte, annotations map[string]string) (*bundle.Bundle, error) {
	made, err := base64.StdEncoding.DecodeString(annotations[annotationSignature])
	if err != nil || len(made) == 0 {
		return nil, errors.New("the layer has no signature in its annotation " + annotationSignature)
	}
	digest := sha256.Sum256(payload)
	b := &protobundle.Bundle{
		MediaType:            oldBundle,
		VerificationMaterial: &protobundle.VerificationMaterial{},
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: digest[:]},
			Signature:     made,
		}},
	}
	if err := material(b.VerificationMaterial, annotations); err != nil {
		return nil, err
	}
	return bundle.NewBundle(b)
}

// material reads what shall prove a signature.
func material(m *protobundle.VerificationMaterial, annotations map[string]string) error {
	m.Content = &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{}}
	if text := annotations[annotationCertificate]; text != "" {
		block, _ := pem.Decode([]byte(text))
		if block == nil || block.Type != "CERTIFICATE" {
			return errors.New("the annotation " + annotationCertificate + " holds no certificate in PEM form")
		}
		// Authorities between it and the root are those of the trusted root: what the
		// signer says of them is not needed.
		m.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
			Certificates: []*protocommon.X509Certificate{{RawBytes: block.Bytes}},
		}}
	}
	if text := annotations[annotationLog]; text != "" {
		entry, err := logEntry([]byte(text))
		if err != nil {
			return fmt.Errorf("the annotation %s is malformed: %w", annotationLog, err)
		}
		m.TlogEntries = []*protorekor.TransparencyLogEntry{entry}
	}
	if text := annotations[annotationTimestamp]; text != "" {
		var stamp struct {
			SignedRFC3161Timestamp []byte
		}
		if err := json.Unmarshal([]byte(text), &stamp); err != nil || len(stamp.SignedRFC3161Timestamp) == 0 {
			return errors.New("the annotation " + annotationTimestamp + " is malformed")
		}
		m.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamp.SignedRFC3161Timestamp}},
		}
	}
	return nil
}

// logEntry reads the entry of a transparency log as cosign writes it.
func logEntry(data []byte) (*protorekor.TransparencyLogEntry, error) {
	var written struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           []byte `json:"body"`
			IntegratedTime int64  `json:"integratedTime"`
			LogIndex       int64  `json:"logIndex"`
			LogID          string `json:"logID"`
		}
	}
	if err := json.Unmarshal(data, &written); err != nil {
		return nil, errors.New("it is no JSON of the right form")
	}
	id, err := hex.DecodeString(written.Payload.LogID)
	if err != nil {
		return nil, errors.New("the id of the log is not hexadecimal")
	}
	var kind struct {
		Kind    string `json:"kind"`
		Version string `json:"apiVersion"`
	}
	if err := json.Unmarshal(written.Payload.Body, &kind); err != nil {
		return nil, errors.New("the body of the entry is no JSON")
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex:          written.Payload.LogIndex,
		LogId:             &protocommon.LogId{KeyId: id},
		KindVersion:       &protorekor.KindVersion{Kind: kind.Kind, Version: kind.Version},
		IntegratedTime:    written.Payload.IntegratedTime,
		InclusionPromise:  &protorekor.InclusionPromise{SignedEntryTimestamp: written.SignedEntryTimestamp},
		CanonicalizedBody: written.Payload.Body,
	}, nil
}

// payloadType is what cosign calls its claims.
const payloadType = "cosign container image signature"

// claims holds what a payload says to the subject: its digest, and the repository for which
// it was signed.
func claims(payload []byte, subject attached.Subject) error {
	var claimed struct {
		Critical struct {
			Identity struct {
				Reference string `json:"docker-reference"`
			} `json:"identity"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
	}
	if json.Unmarshal(payload, &claimed) != nil {
		return errors.New("the signed payload is no JSON")
	}
	critical := claimed.Critical
	switch {
	case critical.Type != payloadType:
		return fmt.Errorf("the signed payload is a %q, not a %q", critical.Type, payloadType)
	case critical.Image.Digest != subject.Descriptor.Digest.String():
		return fmt.Errorf("the signature is of %q", critical.Image.Digest)
	case critical.Identity.Reference != "" && repositoryOf(critical.Identity.Reference) != repositoryOf(subject.Name()):
		return fmt.Errorf("the signature is for the repository %q; a copy in another one has to be signed again, or for its name with --sign-container-identity", critical.Identity.Reference)
	}
	return nil
}

// repositoryOf returns the registry and repository of a reference. Docker Hub has several
// names.
func repositoryOf(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	// A colon before the last slash is that of a port.
	if tag := strings.LastIndex(reference, ":"); tag > strings.LastIndex(reference, "/") {
		reference = reference[:tag]
	}
	host, path, _ := strings.Cut(reference, "/")
	switch host = strings.ToLower(host); host {
	case "index.docker.io", "registry-1.docker.io", "docker.io":
		host = "docker.io"
		if !strings.Contains(path, "/") {
			path = "library/" + path
		}
	}
	return host + "/" + path
}
