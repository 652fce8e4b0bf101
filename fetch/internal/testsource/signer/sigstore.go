// SPDX-License-Identifier: Apache-2.0

package signer

import (
	"crypto/elliptic"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"testing"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"

	"kumodo.io/convoy/fetch/internal/testsource"
)

func curve() elliptic.Curve { return elliptic.P256() }

func preAuthentication(payloadType string, payload []byte) []byte {
	return dsse.PAE(payloadType, payload)
}

// Sigstore is a deployment of its own: an authority of certificates, a transparency log and
// an authority of timestamps, in this process. Its time is the machine's.
type Sigstore struct {
	*ca.VirtualSigstore
	t testing.TB
}

// NewSigstore makes one.
func NewSigstore(t testing.TB) *Sigstore {
	t.Helper()
	made, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	return &Sigstore{made, t}
}

// Parts of a trusted root.
type Parts struct{ NoLog, NoTimestamps, CertificateLog bool }

// TrustedRoot is what its verifiers need, as JSON.
func (s *Sigstore) TrustedRoot(parts Parts) string {
	s.t.Helper()
	logs, stamps, certificates := s.logs(s.RekorLogs()), s.TimestampingAuthorities(), map[string]*root.TransparencyLog{}
	if parts.NoLog {
		logs = nil
	}
	if parts.NoTimestamps {
		stamps = nil
	}
	if parts.CertificateLog {
		certificates = s.logs(s.CTLogs())
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01, s.FulcioCertificateAuthorities(), certificates, stamps, logs)
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := trusted.MarshalJSON()
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// logs puts the id of a log right, which the deployment writes as text.
func (s *Sigstore) logs(logs map[string]*root.TransparencyLog) map[string]*root.TransparencyLog {
	for id, log := range logs {
		raw, err := hex.DecodeString(id)
		if err != nil {
			s.t.Fatal(err)
		}
		log.ID = raw
	}
	return logs
}

// Simple is a layer with a payload that an identity has signed.
func (s *Sigstore) Simple(identity, issuer string, payload []byte) testsource.Layer {
	s.t.Helper()
	entity, err := s.Sign(identity, issuer, payload)
	if err != nil {
		s.t.Fatal(err)
	}
	content, _ := entity.SignatureContent()
	verification, _ := entity.VerificationContent()
	stamps, _ := entity.Timestamps()
	entries, _ := entity.TlogEntries()
	entry, promise := s.promised(entries[0])
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: verification.Certificate().Raw})
	return testsource.Layer{MediaType: SimpleSigning, Content: payload, Annotations: map[string]string{
		"dev.cosignproject.cosign/signature":   base64.StdEncoding.EncodeToString(content.Signature()),
		"dev.sigstore.cosign/certificate":      string(certificate),
		"dev.sigstore.cosign/bundle":           string(marshal(s.t, map[string]any{"SignedEntryTimestamp": promise, "Payload": entry})),
		"dev.sigstore.cosign/rfc3161timestamp": string(marshal(s.t, map[string]any{"SignedRFC3161Timestamp": stamps[0]})),
	}}
}

// promised returns an entry of the log with the promise that it is there.
func (s *Sigstore) promised(e *tlog.Entry) (tlog.RekorPayload, []byte) {
	s.t.Helper()
	written := e.TransparencyLogEntry()
	entry := tlog.RekorPayload{
		Body: base64.StdEncoding.EncodeToString(written.CanonicalizedBody), IntegratedTime: written.IntegratedTime,
		LogIndex: written.LogIndex, LogID: hex.EncodeToString(written.LogId.KeyId),
	}
	promise, err := s.RekorSignPayload(entry)
	if err != nil {
		s.t.Fatal(err)
	}
	return entry, promise
}

// Bundle is a layer with the bundle of a statement that an identity has signed.
func (s *Sigstore) Bundle(identity, issuer string, statement []byte) testsource.Layer {
	s.t.Helper()
	entity, err := s.AttestAtTime(identity, issuer, statement, time.Now().Add(5*time.Minute), true)
	if err != nil {
		s.t.Fatal(err)
	}
	content, _ := entity.SignatureContent()
	verification, _ := entity.VerificationContent()
	stamps, _ := entity.Timestamps()
	entries, _ := entity.TlogEntries()
	_, promise := s.promised(entries[0])
	entry := entries[0].TransparencyLogEntry()
	entry.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: promise}
	var kind struct{ Kind, APIVersion string }
	if err := json.Unmarshal(entry.CanonicalizedBody, &kind); err != nil {
		s.t.Fatal(err)
	}
	entry.KindVersion = &protorekor.KindVersion{Kind: kind.Kind, Version: kind.APIVersion}
	data, err := protojson.Marshal(&protobundle.Bundle{
		MediaType: BundleType,
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content:                   &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: verification.Certificate().Raw}},
			TlogEntries:               []*protorekor.TransparencyLogEntry{entry},
			TimestampVerificationData: &protobundle.TimestampVerificationData{Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamps[0]}}},
		},
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: statement, PayloadType: content.EnvelopeContent().RawEnvelope().PayloadType,
			Signatures: []*protodsse.Signature{{Sig: content.Signature()}},
		}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return testsource.Layer{MediaType: BundleType, Content: data}
}
