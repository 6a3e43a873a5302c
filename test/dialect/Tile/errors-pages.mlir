// A pool of pages is loaded as keys, through the table that it names.
// RUN: pe-opt %s --split-input-file --verify-diagnostics --verify-roundtrip | FileCheck %s

// CHECK: tile.buffer "k" argument pages "table" {strided} : <[pages, page, hkv, d], f32>
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.extent "pages"
  tile.extent "page"
  %K = tile.buffer "k" argument pages "table" {strided} : !tile.buffer<[pages, page, hkv, d], f32>
  %T = tile.buffer "table" argument : !tile.buffer<[b, "ceildiv(c,page)"], i32>
  tile.stage @s forward over ["b", "hkv"] {
    // CHECK: tile.load %{{.*}} : <[pages, page, hkv, d], f32> -> <[c, d], f32>
    %k = tile.load %K : !tile.buffer<[pages, page, hkv, d], f32> -> !tile.val<[c, d], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.extent "pages"
  tile.extent "page"
  %T = tile.buffer "table" argument : !tile.buffer<[b, "ceildiv(c,page)"], i32>
  // expected-error-re @below {{expected `pages` on a strided argument with extents pages,{{.*}}(buffer-C6)}}
  %K = tile.buffer "k" argument pages "table" : !tile.buffer<[pages, page, hkv, d], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "table" argument : !tile.buffer<[b, c], i32>
  // expected-error-re @below {{found argument 'k' of '!tile.buffer<[b, hkv, c, d], f32>' (buffer-C6)}}
  %K = tile.buffer "k" argument pages "table" {strided} : !tile.buffer<[b, hkv, c, d], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.extent "pages"
  tile.extent "page"
  // expected-error-re @below {{expected the table of pages{{.*}}found no buffer 'table' (buffer-C7)}}
  %K = tile.buffer "k" argument pages "table" {strided} : !tile.buffer<[pages, page, hkv, d], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.extent "pages"
  tile.extent "page"
  %T = tile.buffer "table" argument : !tile.buffer<[b, "ceildiv(c,page)"], f32>
  // expected-error-re @below {{expected the table of pages{{.*}}found another buffer 'table' (buffer-C7)}}
  %K = tile.buffer "k" argument pages "table" {strided} : !tile.buffer<[pages, page, hkv, d], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  tile.extent "pages"
  tile.extent "page"
  %T = tile.buffer "table" argument : !tile.buffer<[b, "ceildiv(c,page)"], i32>
  %K = tile.buffer "k" argument pages "table" {strided} : !tile.buffer<[pages, page, hkv, d], f32>
  tile.stage @s forward over ["b", "hkv"] {
    %k = tile.constant 0.0 : !tile.val<[c, d], f32>
    // expected-error-re @below {{expected a store to a buffer without `pages`,{{.*}}(store-C9)}}
    tile.store %k, %K : !tile.val<[c, d], f32> -> !tile.buffer<[pages, page, hkv, d], f32>
  }
}
