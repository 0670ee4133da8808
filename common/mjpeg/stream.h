// SPDX-License-Identifier: LGPL-2.1-or-later
// What the marker segments of a JPEG picture say (T.81 Annex B), checked.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tables.h"

namespace cudaenc::mjpeg {

constexpr int kMaxStreamComponents = 4;
constexpr int kDestinations = 4;  // of quantisation tables and of Huffman tables (B.2.4)
constexpr int kMaxHuffmanCodes = 256;

// A Huffman table of a stream. B.2.4.2 allows symbols that baseline coding does not use.
struct StreamHuffman {
    uint8_t codes[16];                  // BITS: of length 1 to 16
    uint8_t symbols[kMaxHuffmanCodes];  // HUFFVAL: in the order of their codes
    bool operator==(const StreamHuffman &) const = default;
};

struct StreamComponent {
    int id;
    int h, v;                          // sampling factors: 1 to 4; 1 and 1 where it is the only component
    int width, height;                 // samples
    int columns, rows;                 // blocks with samples
    int mcu_columns, mcu_rows;         // blocks of an interleaved scan
    bool scanned;                      // in one of the scans
    uint16_t divisors[kBlockSamples];  // by index: of the table in effect when the component's first scan began
};

struct StreamScan {
    int count;                            // components
    int component[kMaxStreamComponents];  // their numbers
    int dc[kMaxStreamComponents];         // of each, among CodedStream::huffman; -1: the scan does not use it
    int ac[kMaxStreamComponents];
    int first, last;                // Ss, Se: places of the zig-zag sequence; Ss of lossless coding: the predictor
    int high, low;                  // Ah, Al; Al of lossless coding: the point transform
    int restart_interval;           // MCUs; 0: none
    std::span<const uint8_t> data;  // coded data, with stuffed zeros and restart markers
    int padding;                    // zeros that end the packet behind data without a marker, and may be no codes
};

// Bytes of the packet.
struct StreamMetadata {
    std::span<const uint8_t> exif;                     // a TIFF structure
    std::vector<std::span<const uint8_t>> icc_chunks;  // in their order; none if one is missing
    int density_num = 0, density_den = 0;              // of JFIF, or of EXIF without a unit; 0: not told
    int adobe_transform = -1;                          // of Adobe's marker; -1: there is none
    bool jfif = false;
    bool limited_range = false;  // the comment "CS=ITU601"
    int orientation = 1;         // of EXIF: 1 to 8
};

// What is said of coded data that hold less or more than their blocks, or codes that are none.
constexpr const char *kBrokenData = "JPEG: the coded data are broken";

struct CodedStream {
    int width, height;
    int bits;          // of a sample: 8 or 12; 2 to 16 of lossless coding
    bool progressive;  // else sequential, or:
    bool lossless;
    int max_h, max_v;
    std::vector<StreamComponent> components;
    std::vector<StreamHuffman> huffman;
    std::vector<StreamScan> scans;  // those that can be decoded: none where all of them are faulty
    StreamMetadata metadata;
    std::string damage;  // what is wrong with a stream that can be decoded in part; mostly empty
};

// Reads a picture. Junk before SOI is skipped. Huffman tables that are missing are those of Annex K, as in AVI.
class StreamReader {
  public:
    // Reads up to the first scan's header. Throws Error: CUDAENC_ERR_INVALID if there is nothing to decode,
    // CUDAENC_ERR_UNSUPPORTED for arithmetic and hierarchical coding.
    explicit StreamReader(std::span<const uint8_t> packet);
    ~StreamReader();
    const CodedStream &headers() const;  // no scans
    size_t header_size() const;          // bytes that were read
    // Reads the rest and gives all of it; once. The packet begins with the same headers.
    CodedStream read_scans(std::span<const uint8_t> packet);

  private:
    class Parser;
    std::unique_ptr<Parser> parser_;
};

// The bytes of a packet up to the end of its first picture, EOI included. Others may follow, such as a second field.
size_t picture_size(std::span<const uint8_t> packet);
// Whether it has the two fields of a frame, as AVI has them.
bool has_two_fields(std::span<const uint8_t> packet);

// The first byte 0xFF of a marker that ends coded data: neither a stuffed zero, a fill byte nor a restart marker
// follows it. data.size(): there is none.
size_t find_marker(std::span<const uint8_t> data);

}  // namespace cudaenc::mjpeg
