// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_azblob

package location

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/blob/azureblob"

	"kumodo.io/convoy/render/store"
)

func openAzure(ctx context.Context, u *url.URL, _ bool) (store.Place, error) {
	if err := named(u); err != nil {
		return store.Place{}, err
	}
	service, err := azureService(u.Query())
	if err != nil {
		return store.Place{}, err
	}
	client, err := azureblob.NewDefaultClient(service, azureblob.ContainerName(u.Host))
	if err != nil {
		// What the library says might quote a key or connection string that is malformed.
		return store.Place{}, errors.New("the credentials cannot be used: look at the environment variables AZURE_STORAGE_…, or AZURE_… of the identity")
	}
	bucket, err := azureblob.OpenBucket(ctx, client, nil)
	return store.Place{Bucket: bucket, Explain: explainAzure}, err
}

// azureService gives the URL of the account: from the environment, unless the URL says
// otherwise.
func azureService(parameters url.Values) (azureblob.ServiceURL, error) {
	options := azureblob.NewDefaultServiceURLOptions()
	if account := parameters.Get("storage_account"); account != "" {
		options.AccountName = account
	}
	if domain := parameters.Get("domain"); domain != "" {
		options.StorageDomain = domain
	}
	if protocol := parameters.Get("protocol"); protocol != "" {
		options.Protocol = protocol
	}
	if given := parameters.Get("localemu"); given != "" {
		var err error
		if options.IsLocalEmulator, err = strconv.ParseBool(given); err != nil {
			return "", errors.New("the parameter localemu must be true or false")
		}
	}
	if options.AccountName == "" {
		return "", errors.New("the storage account is not known: add ?storage_account=… to the URL, or set AZURE_STORAGE_ACCOUNT")
	}
	return azureblob.NewServiceURL(options)
}

// explainAzure gives the code of Blob Storage, and its name of the request.
func explainAzure(err error) (code, request string) {
	var known *azcore.ResponseError
	if !errors.As(err, &known) {
		return "", ""
	}
	if known.RawResponse != nil {
		request = known.RawResponse.Header.Get("x-ms-request-id")
	}
	if known.ErrorCode == "" && known.StatusCode != 0 {
		return strconv.Itoa(known.StatusCode), request
	}
	return known.ErrorCode, request
}
